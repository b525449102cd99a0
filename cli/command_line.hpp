#pragma once

#include <string>
#include <vector>

#include "cli/console.hpp"

namespace paceline::cli {

/// Exit codes of `paceline`.
enum class ExitCode : int {
  done = 0,
  failed = 1,    // ran and failed, or out of tolerance
  bad_input = 2  // usage or input
};

/// Runs what the words after `paceline` ask for. The one place that turns exceptions into messages
/// on `console.err` and exit codes. Never throws.
[[nodiscard]] int run_command_line(const std::vector<std::string>& words, const Console& console);

}  // namespace paceline::cli
