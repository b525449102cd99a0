#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Files by id in the folders of `core::profile_directories`; the first folder that has one wins.
namespace paceline::hardware_profiles {

/// A line of `paceline list`.
struct ProfileEntry {
  std::string id;    // the file's name
  std::string name;  // what stands in it
  std::filesystem::path path;
  std::string problem;  // why it cannot be read, else empty
};

/// Folders, in order, that hold files of one kind: `<profile directory>/<folder>` each, and for
/// clusters the profile directory too.
[[nodiscard]] std::vector<std::filesystem::path> folders_of(std::string_view folder,
                                                            std::string_view profiles);

/// All files of one kind, by id; `kind` is the word in their `schema`.
[[nodiscard]] std::vector<ProfileEntry> list_profiles(std::string_view folder,
                                                      std::string_view kind,
                                                      std::string_view profiles);

[[nodiscard]] std::optional<std::filesystem::path> find_profile(std::string_view folder,
                                                                std::string_view id,
                                                                std::string_view profiles);

/// "searched A, B" and, if an id is near, "did you mean …?"
[[nodiscard]] std::string not_found_text(std::string_view folder, std::string_view kind,
                                         std::string_view id, std::string_view profiles);

}  // namespace paceline::hardware_profiles
