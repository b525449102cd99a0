#include <unistd.h>

#include <boost/program_options.hpp>
#include <cstdlib>
#include <iostream>

#include "core/error.hpp"
#include "runtime/app/commands.hpp"

/// Exit codes: 0 done, 1 ran and failed, 2 bad usage or input.
int main(int argc, char** argv) {
  namespace core = paceline::core;
  namespace runtime = paceline::runtime;
  int code = 0;
  // Until ranks have met, all of them see the same input and one speaks for them.
  const auto fail = [&](const std::string& text, int exit_code) {
    code = exit_code;
    if (!runtime::ranks_have_met()) {
      if (runtime::launched_rank() == 0) std::cerr << "paceline-rt: " + text + "\n";
      return;
    }
    std::cerr << "paceline-rt: rank " + std::to_string(runtime::launched_rank()) + ": " + text +
                     "\n";
  };
  try {
    return runtime::run_command(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const core::ConfigError& error) {
    fail(error.what(), 2);
  } catch (const core::UsageError& error) {
    fail(error.what(), 2);
  } catch (const boost::program_options::error& error) {
    fail(std::string(error.what()) + " (see paceline-rt help)", 2);
  } catch (const std::exception& error) {
    fail(error.what(), 1);
  }
  std::cerr.flush();
  std::cout.flush();
  // Not `return`: other ranks may wait for this one, and the launcher ends them when it is gone
  // without having said goodbye to them.
  std::_Exit(code);
}
