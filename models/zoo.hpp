#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.hpp"

namespace paceline::models {

struct ZooEntry {
  VitArchitecture architecture;
  std::vector<std::string> aliases;
  std::string source;
};

/// All architectures of `models/zoo/*.json`, by file name and order in the file.
/// Throws `core::ConfigError` if a file is wrong, an id or alias is given twice, or an architecture
/// is impossible.
[[nodiscard]] const std::vector<ZooEntry>& zoo();

/// The entry with that id or alias, or null.
[[nodiscard]] const ZooEntry* find_in_zoo(std::string_view name);

}  // namespace paceline::models
