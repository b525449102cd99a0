#pragma once

#include <functional>
#include <string>

#include "core/measurements.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

struct CalibrationSettings {
  int threads_per_rank = 1;
  /// What all of it may take. On a busy machine there are fewer repeats, at least two of each
  /// kernel and `least_repeats` of each message size; only those may take longer.
  double seconds = 50;
  /// Called now and then by this rank: what is being measured, share of `seconds` that is used.
  std::function<void(const std::string&, double)> progress;
};

inline constexpr int least_repeats = 5;

/// Measures what predictions need on this host: every kernel in its place in one-block training
/// steps of many widths, token counts and batches, while 1, 2, 4, … and all ranks compute;
/// exchanges between neighbours, reductions and whole collectives by size. Collective: every rank
/// calls it; rank 0 gets the result, the others an empty one.
[[nodiscard]] core::Measurements calibrate(Communicator& communicator,
                                           const CalibrationSettings& settings);

}  // namespace paceline::runtime
