#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/zoo.hpp"

namespace paceline::models {

/// A file of `zoo/`.
struct ZooFile {
  std::string source;
  std::vector<ZooEntry> architectures;
};

/// Throws `core::ConfigError` with every fault; an id or alias may stand in the file once.
[[nodiscard]] ZooFile read_zoo_file(const std::filesystem::path& path);

/// JSON Schema of zoo files.
[[nodiscard]] std::string zoo_schema();

}  // namespace paceline::models
