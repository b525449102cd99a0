#pragma once

#include "core/report.hpp"

namespace paceline::validate {

/// A report of two ranks, times in µs. Step 100: forward 30, backward 50, exposed communication 15,
/// optimizer 5, on both ranks. Operations of rank 0: two products "fc1" 20 and "fc2" 10 forward,
/// one product "fc1_gradient" 50 backward, "adamw" 5; FLOPs 200, 100, 500, 0. One all-reduce of
/// 15. Reference rate 40 GFLOP/s. Each rank counted 800 FLOPs.
[[nodiscard]] core::Report hand_made_prediction();

/// What was measured of the same. Step 125: forward 40, backward 60, exposed communication 20,
/// optimizer 5. fc1 25, fc2 15, fc1_gradient 60, adamw 5, all-reduce 20. Reference rate 36 GFLOP/s.
[[nodiscard]] core::Report hand_made_measurement();

/// `report` as a host that is `factor` times slower would have measured it.
void slow_down(core::Report& report, double factor);

}  // namespace paceline::validate
