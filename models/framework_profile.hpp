#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/vocabulary.hpp"
#include "models/optimizer_kernels.hpp"

namespace paceline::models {

/// What the host takes to issue one operator, in microseconds, by the phase that issues it.
struct HostIssueTimes {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
};

/// How one version of a framework runs a model where the user does not say otherwise:
/// `models/frameworks/<name>_<version>.json`.
struct FrameworkProfile {
  core::FrameworkKind name = core::FrameworkKind::pytorch_ddp;
  std::string version;
  bool fused_attention = true;
  OptimizerKernels optimizer_kernels = OptimizerKernels::foreach;
  std::int64_t first_bucket_mib = 1;
  std::int64_t bucket_mib = 25;
  /// Every allocation is rounded up to a multiple of this.
  std::int64_t allocation_granularity_bytes = 512;
  HostIssueTimes host_us_per_operator;
  std::map<std::string, std::string> sources;
};

/// All files, newest version first. Throws `core::ConfigError` with the faults of all of them.
[[nodiscard]] const std::vector<FrameworkProfile>& framework_profiles();

/// Versions that have a file, newest first.
[[nodiscard]] const std::vector<std::string>& framework_versions();

/// The file of that version; without one, of the newest. Throws `core::InvariantError` if there is
/// none (an experiment is checked before).
[[nodiscard]] const FrameworkProfile& framework_profile(const std::optional<std::string>& version);

/// Reads one file. Throws `core::ConfigError` with every fault.
[[nodiscard]] FrameworkProfile read_framework(const std::filesystem::path& path);

/// JSON Schema of a framework file.
[[nodiscard]] std::string framework_schema();

}  // namespace paceline::models
