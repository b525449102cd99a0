#include <string>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/console.hpp"

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return paceline::cli::run_command_line(words, paceline::cli::console_of_process());
}
