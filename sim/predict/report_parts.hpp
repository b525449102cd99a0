#pragma once

#include <map>
#include <string>

#include "core/report.hpp"
#include "core/time.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"
#include "sim/predict/bottleneck.hpp"

/// What predictions for CPU ranks and for GPUs say in the same way.
namespace paceline::sim {

/// Bytes of a collective as one rank holds them.
[[nodiscard]] core::Bytes payload_of(const models::CollectiveShape& shape);

/// Payload of all gradient collectives of a step.
[[nodiscard]] core::Bytes gradient_bytes(const models::Program& program);

[[nodiscard]] std::map<std::string, core::CountedWork> counted_work(const models::Program& program);

/// Images and model FLOPs a second, and the epoch.
void add_headline(const models::Experiment& experiment, core::Time step, core::Report& report);

[[nodiscard]] Reach reach_of(const hardware_profiles::Cluster& cluster, std::size_t ranks);

/// The experiment with what only the cluster says: micro-batches by device type become one for each
/// rank. Throws `core::ConfigError` if a device of the job has none, or one is given for no device.
[[nodiscard]] models::Experiment settled_on(const models::Experiment& experiment,
                                            const hardware_profiles::Cluster& cluster);

}  // namespace paceline::sim
