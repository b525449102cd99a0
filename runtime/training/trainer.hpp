#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/report.hpp"
#include "core/trace.hpp"
#include "models/experiment.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

struct TrainSettings {
  models::Experiment experiment;
  int threads_per_rank = 1;
  /// Of one step, for the deadline; 0: taken from the warm-up.
  double expected_step_s = 0;
  /// Called by rank 0 between steps: steps done, of how many.
  std::function<void(std::int64_t, std::int64_t)> progress;
  /// Steps in the trace; 0 makes none.
  std::int64_t trace_steps = 0;
};

struct TrainOutcome {
  core::Report report;
  std::optional<core::Trace> trace;
};

/// Trains for real and measures: warm-up, timed steps bracketed by the reference product, and with
/// images the rest of the epochs and the held-out accuracy. Collective: every rank calls it; rank 0
/// gets the report and the trace, the others empty ones.
/// Throws `core::ConfigError` for an impossible experiment, `core::RunError` if ranks disagree.
[[nodiscard]] TrainOutcome train(Communicator& communicator, const TrainSettings& settings);

}  // namespace paceline::runtime
