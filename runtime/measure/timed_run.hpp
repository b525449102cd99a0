#pragma once

#include <cstdint>
#include <vector>

#include "core/report.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/status_board.hpp"
#include "runtime/kernels/reference_product.hpp"
#include "runtime/training/step_executor.hpp"

namespace paceline::runtime {

/// Timed steps of one rank, each bracketed by the reference product.
struct TimedRun {
  std::int64_t first_step_ns = 0;
  std::vector<StepRecord> steps;
  /// GFLOP/s of the reference product around each step, this rank's.
  std::vector<double> reference_gflop_per_s;
};

/// Runs warm-up steps and timed steps, numbered from `first_step`. Ranks start each step together;
/// between two steps the reference product takes 5 to 10 % of a step. After the warm-up the
/// watchdog's deadline is `deadline_factor` × the median step, or × `expected_step_s` if > 0.
[[nodiscard]] TimedRun run_timed(StepExecutor& executor, Communicator& communicator,
                                 Watchdog* watchdog, const models::Run& run,
                                 std::int64_t first_step, double expected_step_s);

inline constexpr double deadline_factor = 20.0;

/// Rank 0: the measured report of all ranks' runs, provenance and memory apart. Others: empty.
/// Collective: every rank calls it.
[[nodiscard]] core::Report measured_report(const models::Experiment& experiment,
                                           const models::Program& program, const TimedRun& run,
                                           Communicator& communicator, core::RankReport this_rank);

}  // namespace paceline::runtime
