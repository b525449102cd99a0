#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace paceline::cli {

/// What a run of the program left behind.
struct Ran {
  int code = -1;  // exit code, or 128 + signal
  std::string out;
  std::string err;
};

/// A folder of its own for one test, removed at its end, and the real `paceline` run in it.
class Workplace {
 public:
  Workplace();
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace();

  /// Runs `paceline` with these words. The environment is C.UTF-8, 100 columns, no profiles of the
  /// user, and what `environment` adds.
  [[nodiscard]] Ran run(const std::vector<std::string>& words,
                        const std::map<std::string, std::string>& environment = {}) const;
  /// The same with standard output going to a device or file that exists.
  [[nodiscard]] Ran run_into(const std::string& out, const std::vector<std::string>& words) const;

  /// From now on runs a copy of the program in `bin`, beside stand-ins of that name for
  /// `paceline-rt` and `mpirun`, which print how they were called and exit with `code`.
  void stand_in_for_runtime(int code);

  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_ / "work" / name;
  }
  /// Names of all files, sorted.
  [[nodiscard]] std::vector<std::string> files() const;

 private:
  [[nodiscard]] Ran spawn(const std::string& out, const std::vector<std::string>& words,
                          const std::map<std::string, std::string>& environment) const;

  std::filesystem::path folder_;
  std::string program_;
};

/// Splits a command line at blanks; a part in single quotes stays whole.
[[nodiscard]] std::vector<std::string> words_of(const std::string& line);

}  // namespace paceline::cli
