#pragma once

#include <filesystem>
#include <string>

namespace paceline::cli {

/// Reads a file of `models/zoo` on its own; an id or alias may stand in it once.
/// Throws `core::ConfigError` with every fault.
void check_zoo_file(const std::filesystem::path& path);

/// JSON Schema of zoo files.
[[nodiscard]] std::string zoo_schema();

}  // namespace paceline::cli
