#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/experiment.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/status_board.hpp"
#include "runtime/kernels/reference_product.hpp"
#include "runtime/measure/clock_alignment.hpp"
#include "runtime/measure/host.hpp"
#include "runtime/training/step_executor.hpp"

namespace paceline::runtime {

/// Timed steps of one rank, each bracketed by the reference product.
struct TimedRun {
  std::int64_t first_step_ns = 0;
  std::vector<StepRecord> steps;
  /// GFLOP/s of the reference product around each step, this rank's.
  std::vector<double> reference_gflop_per_s;
  ClockAlignment clock;
  /// After the warm-up, whose steps use all that later ones do. What is kept of each timed step
  /// comes on top, and is the instrument's.
  core::Bytes resident_rise;
};

struct TimedRunSettings {
  Watchdog* watchdog = nullptr;
  models::Run run;
  std::int64_t first_step = 0;  // its number
  /// Of one step, for the deadline; 0: the warm-up's median.
  double expected_step_s = 0;
  /// Called between steps with the number of the next one.
  std::function<void(std::int64_t)> progress;
};

/// Runs warm-up steps and timed steps. Ranks start each step together; between two steps the
/// reference product takes 5 to 10 % of a step. After the warm-up the watchdog's deadline is
/// `deadline_factor` × the expected step, and at least ten seconds.
[[nodiscard]] TimedRun run_timed(StepExecutor& executor, Communicator& communicator,
                                 ReferenceProduct& reference, const ResidentRise& rise,
                                 const TimedRunSettings& settings);

inline constexpr double deadline_factor = 20.0;

}  // namespace paceline::runtime
