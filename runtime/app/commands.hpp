#pragma once

#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

/// Runs one command of `paceline-rt`; the exit code. Throws what `main` turns into exit codes.
int run_command(const std::vector<std::string>& arguments);

}  // namespace paceline::runtime
