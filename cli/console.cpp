#include "cli/console.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cli/display_text.hpp"

namespace paceline::cli {
namespace {

constexpr int narrowest_screen = 40;

std::string environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? std::string() : std::string(value);
}

int columns_of_screen() {
  const std::string given = environment("COLUMNS");
  int columns = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), columns);
  const bool is_number = error == std::errc() && end == given.data() + given.size();
  if (!is_number || columns <= 0) {
    winsize size{};
    const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    columns = known ? size.ws_col : widest_screen;
  }
  return std::clamp(columns, narrowest_screen, widest_screen);
}

bool locale_is_utf8() {
  std::string locale = environment("LC_ALL");
  if (locale.empty()) locale = environment("LC_CTYPE");
  if (locale.empty()) locale = environment("LANG");
  std::transform(locale.begin(), locale.end(), locale.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

std::string shown_as(std::string_view text, bool utf8) {
  const std::string clean = without_controls(text);
  return utf8 ? clean : as_ascii(clean);
}

}  // namespace

void Console::print(std::string_view text) const { out << shown_as(text, utf8); }

void Console::complain(std::string_view text) const { err << shown_as(text, utf8); }

void Console::write(std::string_view text) const { out << text; }

Console console_of_process() {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return {
      .out = std::cout,
      .err = std::cerr,
      .width = columns_of_screen(),
      .utf8 = locale_is_utf8(),
      .colour = is_terminal && environment("NO_COLOR").empty() && environment("TERM") != "dumb"};
}

}  // namespace paceline::cli
