#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"

/// Names that people give to several cards (gpus/ambiguous_names.json): they are refused with the
/// cards that they may mean.
namespace paceline::hardware_profiles {

struct AmbiguousNames {
  std::map<std::string, std::vector<std::string>> names;  // ids of cards by name
};

/// File name in a folder of gpu files.
inline constexpr std::string_view ambiguous_names_file = "ambiguous_names.json";

/// Throws `core::ConfigError` with every fault; an id that is not among `gpu_ids` is one.
[[nodiscard]] AmbiguousNames read_ambiguous_names(const std::filesystem::path& path,
                                                  const std::vector<std::string>& gpu_ids);

/// JSON Schema of the file.
[[nodiscard]] std::string ambiguous_names_schema();

}  // namespace paceline::hardware_profiles
