#pragma once

#include "core/report.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/measure/timed_run.hpp"
#include "runtime/measure/world_times.hpp"

namespace paceline::runtime {

/// Rank 0: the measured report of all ranks' runs, provenance and memory apart. Others: empty.
/// Collective: every rank calls it.
[[nodiscard]] core::Report measured_report(const models::Experiment& experiment,
                                           const models::Program& program, const TimedRun& run,
                                           const WorldTimes& world, Communicator& communicator,
                                           core::RankReport this_rank);

}  // namespace paceline::runtime
