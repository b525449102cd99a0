#include "runtime/app/command_options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "core/error.hpp"

namespace paceline::runtime {

namespace po = boost::program_options;

std::optional<std::string> ParsedOptions::text(const char* name) const {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<std::string>();
}

std::string ParsedOptions::required_text(const char* name) const {
  return values[name].as<std::string>();  // program_options has refused its absence
}

double ParsedOptions::number(const char* name) const { return values[name].as<double>(); }

int ParsedOptions::integer(const char* name) const { return values[name].as<int>(); }

ParsedOptions parse_options(const std::vector<std::string>& arguments,
                            const po::options_description& options,
                            const po::positional_options_description& positional,
                            const std::string& usage) {
  po::options_description all = options;
  all.add_options()("help,h", "print this");
  ParsedOptions parsed;
  po::store(po::command_line_parser(arguments).options(all).positional(positional).run(),
            parsed.values);
  if (parsed.values.count("help") > 0) {
    std::cout << "usage: " << usage << "\n" << options;
    parsed.asked_for_help = true;
    return parsed;
  }
  po::notify(parsed.values);
  return parsed;
}

void require_between(const std::string& option, double value, double low, double high) {
  if (value >= low && value <= high) return;
  throw core::UsageError(fmt::format("--{}: got {} (must be {} to {})", option, value, low, high));
}

void check_writable(const std::optional<std::string>& path) {
  if (!path) return;
  const auto folder = std::filesystem::absolute(*path).parent_path();
  if (!std::filesystem::is_directory(folder) || ::access(folder.c_str(), W_OK) != 0) {
    throw core::UsageError(*path +
                           ": its folder does not exist or is not writable (make it first)");
  }
}

}  // namespace paceline::runtime
