#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/report.hpp"
#include "models/experiment.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

struct TrainSettings {
  models::Experiment experiment;
  int threads_per_rank = 1;
  /// Of one step, for the deadline; 0: taken from the warm-up.
  double expected_step_s = 0;
  /// Called by rank 0 after each epoch or now and then: what, done share.
  std::function<void(const std::string&, double)> progress;
};

/// Trains for real and measures: warm-up, timed steps bracketed by the reference product, and with
/// images the rest of the epochs and the held-out accuracy. Collective: every rank calls it; rank 0
/// gets the report, the others an empty one.
/// Throws `core::ConfigError` for an impossible experiment, `core::RunError` if ranks disagree.
[[nodiscard]] core::Report train(Communicator& communicator, const TrainSettings& settings);

}  // namespace paceline::runtime
