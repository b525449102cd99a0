#pragma once

#include "core/measurements.hpp"
#include "core/report.hpp"

namespace paceline::test {

/// A report in which every key stands.
[[nodiscard]] core::Report full_report();
/// A report in which every key that may be left out is.
[[nodiscard]] core::Report smallest_report();

[[nodiscard]] core::Measurements full_measurements();

}  // namespace paceline::test
