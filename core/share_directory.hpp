#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace paceline::core {

/// Where the files that come with Paceline are (`models/zoo`, `hardware_profiles/…`):
/// `../share/paceline` beside the program if installed, else the source tree it was built from.
/// Throws `RunError` if neither is there.
[[nodiscard]] std::filesystem::path share_directory();

/// Folders in which a profile named by id is looked up, first match wins: `first` (from
/// `--profiles`, may be empty), `$PACELINE_PROFILES`, the user's data directory
/// (`$XDG_DATA_HOME/paceline` or `~/.local/share/paceline`), the share directory's
/// `hardware_profiles`.
[[nodiscard]] std::vector<std::filesystem::path> profile_directories(std::string_view first);

}  // namespace paceline::core
