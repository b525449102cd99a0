#include "core/share_directory.hpp"

#include <cstdlib>
#include <system_error>

#include "core/error.hpp"

namespace paceline::core {

std::filesystem::path share_directory() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    auto installed = program.parent_path().parent_path() / "share" / "paceline";
    if (std::filesystem::is_directory(installed / "models" / "zoo", error)) return installed;
  }
  const std::filesystem::path source = PACELINE_SOURCE_DIRECTORY;
  if (std::filesystem::is_directory(source / "models" / "zoo", error)) return source;
  throw RunError(
      "Paceline's own files are neither in ../share/paceline beside the program nor in " +
      source.string() + " (install again, or build from a checkout that still exists)");
}

std::vector<std::filesystem::path> profile_directories(std::string_view first) {
  std::vector<std::filesystem::path> directories;
  const auto environment = [](const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? std::string() : std::string(value);
  };
  if (!first.empty()) directories.emplace_back(first);
  if (const auto set = environment("PACELINE_PROFILES"); !set.empty()) {
    directories.emplace_back(set);
  }
  if (const auto data = environment("XDG_DATA_HOME"); !data.empty()) {
    directories.push_back(std::filesystem::path(data) / "paceline");
  } else if (const auto home = environment("HOME"); !home.empty()) {
    directories.push_back(std::filesystem::path(home) / ".local" / "share" / "paceline");
  }
  directories.push_back(share_directory() / "hardware_profiles");
  return directories;
}

}  // namespace paceline::core
