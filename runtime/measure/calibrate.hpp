#pragma once

#include <functional>
#include <string>

#include "core/measurements.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

struct CalibrationSettings {
  int threads_per_rank = 1;
  /// About how long all of it takes.
  double seconds = 50;
  /// Called now and then with what is being measured.
  std::function<void(const std::string&)> progress;
};

/// Measures what predictions need on this host: every kernel in its place in one-block training
/// steps of many widths, token counts and batches, while 1, 2, 4, … and all ranks compute;
/// exchanges between neighbours, reductions and whole collectives by size. Collective: every rank
/// calls it; rank 0 gets the result, the others an empty one.
[[nodiscard]] core::Measurements calibrate(Communicator& communicator,
                                           const CalibrationSettings& settings);

}  // namespace paceline::runtime
