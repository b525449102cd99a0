#pragma once

#include <chrono>
#include <cstdint>

namespace paceline::runtime {

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a host share.
[[nodiscard]] inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace paceline::runtime
