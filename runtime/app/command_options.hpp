#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

namespace paceline::runtime {

/// A command's words after they were understood.
struct ParsedOptions {
  boost::program_options::variables_map values;
  bool asked_for_help = false;  // the help has been printed; nothing else is to be done

  [[nodiscard]] std::optional<std::string> text(const char* name) const;
  /// Of an option that is required or has a default.
  [[nodiscard]] std::string required_text(const char* name) const;
  [[nodiscard]] double number(const char* name) const;
  [[nodiscard]] int integer(const char* name) const;
};

/// Understands `arguments`; adds --help, which prints `usage` and the options. Throws
/// `boost::program_options::error` for what it does not know.
[[nodiscard]] ParsedOptions parse_options(
    const std::vector<std::string>& arguments,
    const boost::program_options::options_description& options,
    const boost::program_options::positional_options_description& positional,
    const std::string& usage);

/// Throws `core::UsageError` unless `low` ≤ `value` ≤ `high`; NaN is refused.
void require_between(const std::string& option, double value, double low, double high);

/// Fails before anything runs if a result could not be written: `core::UsageError`.
void check_writable(const std::optional<std::string>& path);

}  // namespace paceline::runtime
