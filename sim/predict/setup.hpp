#pragma once

#include <string>
#include <vector>

#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"
#include "sim/compute/kernel_cost.hpp"
#include "sim/simulation/costed_program.hpp"

namespace paceline::sim {

/// What is simulated: a Program for each rank, and the device and level that it runs on.
struct Setup {
  std::vector<models::Program> programs;
  std::vector<const hardware_profiles::CpuDevice*> devices;  // by rank
  std::vector<int> ranks_on_node;                            // by rank, itself included
  std::vector<const hardware_profiles::CpuLevel*> levels;    // by rank
};

/// Finds devices and levels, lowers each rank and checks that their collectives match.
/// Throws `core::ConfigError` with everything that the cluster lacks in devices and levels.
[[nodiscard]] Setup set_up(const models::Experiment& experiment,
                           const hardware_profiles::Cluster& cluster);

/// The time of everything. Throws `core::ConfigError` with every kernel class, feature and way
/// that is missing. The setup must outlive the result.
[[nodiscard]] World cost_setup(const Setup& setup, const hardware_profiles::Cluster& cluster);

/// How messages name the cluster: its file, or its id.
[[nodiscard]] std::string cluster_file(const hardware_profiles::Cluster& cluster);

}  // namespace paceline::sim
