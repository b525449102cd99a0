#pragma once

#include "core/fields.hpp"
#include "hardware_profiles/gpu.hpp"

namespace paceline::hardware_profiles {

[[nodiscard]] const core::FieldTable<Gpu>& gpu_fields();

/// Reads a gpu file; faults go to `faults`.
[[nodiscard]] Gpu read_gpu(const std::filesystem::path& path, core::Faults& faults);

}  // namespace paceline::hardware_profiles
