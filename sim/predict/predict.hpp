#pragma once

#include "core/report.hpp"
#include "core/trace.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"

namespace paceline::sim {

/// Simulates one training step of `experiment` on `cluster` until it repeats itself, and reports
/// it. Needs at least as many slots as ranks. The report is a function of its arguments alone: the
/// same bytes every time, in every build. Where a rank does not fit into its memory, `fits` is
/// false and the report has no times.
/// Throws `core::ConfigError` if the cluster lacks what the experiment needs (devices, a measured
/// level for that many ranks, a kernel class, a link), naming all that is missing and the command
/// that measures it.
[[nodiscard]] core::Report predict(const models::Experiment& experiment,
                                   const hardware_profiles::Cluster& cluster);

struct Prediction {
  core::Report report;
  /// The step that is reported, of every rank; without events where it does not fit.
  core::Trace trace;
};

/// The same report, and what each rank's core does when.
[[nodiscard]] Prediction predict_with_trace(const models::Experiment& experiment,
                                            const hardware_profiles::Cluster& cluster);

}  // namespace paceline::sim
