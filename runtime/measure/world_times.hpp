#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/measure/timed_run.hpp"

namespace paceline::runtime {

/// What all ranks know together about the timed steps, instants on rank 0's clock.
struct WorldTimes {
  /// Clocks agree well enough to tell a straggler's wait from the communication after it: their
  /// uncertainty is at most 1 % of the median step.
  bool separates_waits = true;
  bool one_clock = true;
  std::vector<double> step_us;  // slowest rank
  /// By operation of this rank's Program, then by step: when the last member joined the collective,
  /// and when it had ended everywhere.
  std::map<std::size_t, std::vector<double>> joined_us;
  std::map<std::size_t, std::vector<double>> ended_us;
};

/// The operations of a Program that are collectives, in issue order, which is the same on all
/// ranks.
[[nodiscard]] std::vector<std::size_t> collectives_of(const models::Program& program);

/// Collective: every rank calls it and gets the same times.
[[nodiscard]] WorldTimes exchange_times(const models::Program& program, const TimedRun& run,
                                        Communicator& communicator);

}  // namespace paceline::runtime
