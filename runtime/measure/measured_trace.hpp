#pragma once

#include <cstdint>
#include <vector>

#include "core/trace.hpp"
#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/measure/timed_run.hpp"
#include "runtime/measure/world_times.hpp"

namespace paceline::runtime {

/// Where a run of `count` consecutive steps begins whose mean lies nearest to the median step; the
/// earliest of several. `count` is at most the number of steps and at least 1.
[[nodiscard]] std::size_t typical_run_of_steps(const std::vector<double>& step_us,
                                               std::size_t count);

/// `steps` consecutive typical timed steps (at most those there are) of all ranks on rank 0's
/// clock, time 0 at the earliest begin, in the names of the predicted trace:
/// `ProfilerStep#i`, each operation, each collective from joining to leaving it, and on the compute
/// stream `straggler_wait`, `exposed_communication` and `poll` (one advance of a collective beside
/// the compute stream). Made of the records that every run keeps: nothing is traced twice.
/// `programs` by rank. Collective: every rank calls it; rank 0 gets the trace, others an empty one.
[[nodiscard]] core::Trace measured_trace(const std::vector<models::Program>& programs,
                                         const TimedRun& run, const WorldTimes& world,
                                         std::int64_t steps, Communicator& communicator);

}  // namespace paceline::runtime
