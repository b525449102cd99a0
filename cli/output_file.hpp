#pragma once

#include <optional>
#include <string>

#include "cli/console.hpp"
#include "cli/verb.hpp"

namespace paceline::cli {

/// A file that the user wants written, of option `--<name>`; "-" is standard output. Made before
/// the work starts, so that a path that cannot be written costs no computation.
class OutputFile {
 public:
  /// Throws `core::UsageError` if the path cannot become a file: its folder is missing or not
  /// writable, or something else than a file stands there.
  OutputFile(std::string name, std::string path);

  [[nodiscard]] bool is_standard_output() const { return path_ == "-"; }
  /// The whole text or nothing. Throws `core::RunError`.
  void write(const std::string& text, const Console& console) const;

 private:
  std::string path_;
};

/// The file of an option, if it is given.
[[nodiscard]] std::optional<OutputFile> output_file(const Arguments& arguments,
                                                    const std::string& name);

}  // namespace paceline::cli
