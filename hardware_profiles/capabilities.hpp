#pragma once

#include <cstdint>

#include "core/vocabulary.hpp"

namespace paceline::hardware_profiles {

/// What a device can do, and no word of how fast: all that lowering may know of it, so that two
/// devices of equal capabilities run the same Program.
struct DeviceCapabilities {
  enum class Kind : std::uint8_t { cpu_rank, cuda };
  Kind kind = Kind::cpu_rank;
  int compute_capability = 0;  // 86 for 8.6; 0 for a CPU rank
  /// Types that matrix products take; bf16 below 8.0 is emulated by frameworks and absent here.
  core::PerEnum<core::DataType, bool> product_types{};

  bool operator==(const DeviceCapabilities&) const = default;

  /// Products in fp32 and nothing else.
  [[nodiscard]] static DeviceCapabilities cpu_rank() {
    DeviceCapabilities result;
    result.product_types[core::DataType::fp32] = true;
    return result;
  }
};

}  // namespace paceline::hardware_profiles
