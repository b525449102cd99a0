#pragma once

#include <functional>
#include <string>

#include "core/measurements.hpp"

namespace paceline::validate {

/// Measurements of a host with one class, "gelu", whose time is 2 µs a call + 0.5 ns a byte, at the
/// levels 1 and 2 (twice as slow), in eight sizes; `noise` multiplies each time. Reductions take
/// 1 µs + 0.25 ns a byte. Exchanges are there.
[[nodiscard]] core::Measurements synthetic_measurements(const std::function<double()>& noise = [] {
  return 1.0;
});

}  // namespace paceline::validate
