#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace paceline::core {

/// One thing wrong with one place of an input file.
/// Reads as `file#/json/pointer: problem`, where problem says what was read and what is allowed.
struct Fault {
  std::string file;
  std::string pointer;
  std::string problem;

  [[nodiscard]] std::string text() const;
};

/// The input is bad: carries every fault that was found, never only the first. Exit code 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(std::vector<Fault> faults);
  ConfigError(std::string file, std::string pointer, std::string problem);

  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

/// The command line is wrong (an option that does not exist, a file that cannot be opened for
/// writing). Exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The run started and failed: a rank died, a deadline passed, a library refused. Exit code 1.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A promise inside the program was broken; never reachable from input alone. Exit code 1.
class InvariantError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace paceline::core
