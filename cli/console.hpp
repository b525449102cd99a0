#pragma once

#include <iosfwd>
#include <string_view>

namespace paceline::cli {

/// Where a verb writes, and what can be seen there.
struct Console {
  std::ostream& out;  // results
  std::ostream& err;  // problems and progress
  int width = 100;    // terminal columns
  bool utf8 = true;
  bool colour = false;

  /// Text for people: without control characters, in ASCII where the terminal knows no UTF-8.
  void print(std::string_view text) const;
  void complain(std::string_view text) const;
  /// Text for programs, as it is.
  void write(std::string_view text) const;
};

/// The widest screen, however wide the terminal.
inline constexpr int widest_screen = 100;

/// The process's own: width from COLUMNS, else of the terminal, else 100; between 40 and 100.
/// UTF-8 as LC_ALL, LC_CTYPE or LANG say, the first that is set. Colour if standard output is a
/// terminal, NO_COLOR is unset or empty and TERM is not dumb.
[[nodiscard]] Console console_of_process();

}  // namespace paceline::cli
