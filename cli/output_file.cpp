#include "cli/output_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "core/file.hpp"

namespace paceline::cli {

OutputFile::OutputFile(std::string name, std::string path) : path_(std::move(path)) {
  if (is_standard_output()) return;
  const auto refuse = [&](const std::string& problem) {
    throw core::UsageError("--" + name + " " + path_ + ": " + problem);
  };
  if (path_.empty()) refuse("got an empty name (give a file, or - for standard output)");
  std::error_code error;
  const std::filesystem::path target(path_);
  const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  if (!std::filesystem::is_directory(folder, error)) {
    refuse("the folder " + folder.string() + " does not exist (make it first)");
  }
  const auto status = std::filesystem::status(target, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse("is not a regular file (give a file, or - for standard output)");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse("the folder " + folder.string() + " is not writable (check its permissions)");
  }
}

void OutputFile::write(const std::string& text, const Console& console) const {
  if (is_standard_output()) {
    console.write(text);
  } else {
    core::write_file_atomically(path_, text);
  }
}

std::optional<OutputFile> output_file(const Arguments& arguments, const std::string& name) {
  const auto path = arguments.value(name);
  return path ? std::optional<OutputFile>(std::in_place, name, *path) : std::nullopt;
}

}  // namespace paceline::cli
