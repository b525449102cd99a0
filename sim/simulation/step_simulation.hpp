#pragma once

#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/timeline.hpp"

namespace paceline::sim {

/// Training steps are repeated until two periods agree, at most so often.
inline constexpr std::uint32_t most_steps = 12;

struct SimulationOptions {
  Timeline::Keep keep = Timeline::Keep::sums;
};

/// One rank in the step that is reported.
struct RankResult {
  PhaseSums phases;  // their sum is the step time
  core::Time own_period;
  core::Time begin;  // of the step
  /// In the step, if asked for; times count from the start of the simulation.
  std::vector<Segment> segments;
};

/// One collective in the step that is reported.
struct CollectiveResult {
  std::uint32_t communicator = 0;
  std::uint32_t sequence = 0;
  core::Time last_arrival;
  core::Time end;                   // of the last member
  std::vector<core::Time> arrived;  // by position
  std::vector<core::Time> left;
};

struct SimulationResult {
  core::Time step_time;
  core::Time first_step;
  /// Two consecutive periods of every rank agree to the picosecond. If not, times are means over
  /// all steps but the first, and collectives and segments are the last step's.
  bool periodic = false;
  std::uint32_t steps = 0;  // simulated
  /// Of the slowest rank, over the steps after the first.
  core::Time shortest_period;
  core::Time longest_period;
  std::vector<RankResult> ranks;
  std::vector<CollectiveResult> collectives;  // by communicator, then sequence
  std::uint64_t events = 0;
  std::uint64_t event_log_hash = 0;
};

/// Runs all ranks' Programs over and over until they repeat themselves.
///
/// A rank begins its next step when its own has ended; its period reaches from the begin of one
/// step to the begin of the next. Collectives of all ranks make the periods equal. Where nothing
/// couples ranks, the step time is the slowest rank's period, and the others get the difference as
/// straggler wait, so that the phases of every rank sum to the step.
///
/// Throws `core::RunError` if ranks wait for each other for ever, saying who waits for whom.
[[nodiscard]] SimulationResult simulate_steps(const World& world, SimulationOptions options = {});

}  // namespace paceline::sim
