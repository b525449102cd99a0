#include "sim/predict/setup.hpp"

#include <fmt/format.h>

#include "models/lowering/lowering.hpp"
#include "sim/collectives/exchange_cost.hpp"

namespace paceline::sim {
namespace {

using hardware_profiles::Cluster;
using hardware_profiles::CpuDevice;
using hardware_profiles::CpuLevel;

std::string place_of(const CpuDevice& device) { return "/cpu_devices/" + device.id; }

std::string counts_text(const CpuDevice& device) {
  std::string text;
  for (std::size_t i = 0; i < device.levels.size(); ++i) {
    const bool last = i + 1 == device.levels.size();
    text += (i == 0 ? "" : last ? " and " : ", ");
    text += std::to_string(device.levels[i].active_ranks);
  }
  const bool one = device.levels.size() == 1 && device.levels.front().active_ranks == 1;
  return text.empty() ? "no active rank" : text + (one ? " active rank" : " active ranks");
}

const CpuLevel* level_of(const CpuDevice& device, int active_ranks, const std::string& file,
                         FaultSet& faults) {
  for (const CpuLevel& level : device.levels) {
    if (level.active_ranks == active_ranks) return &level;
  }
  faults.add({file, place_of(device) + "/levels",
              fmt::format("{} was measured with {}, not {}: {}", device.id, counts_text(device),
                          active_ranks, calibrate_command(active_ranks))});
  return nullptr;
}

void check_slots(const models::Experiment& experiment, const Cluster& cluster) {
  const auto ranks = experiment.parallel.world_size;
  if (static_cast<std::size_t>(ranks) <= cluster.slots.size()) return;
  throw core::ConfigError(
      cluster_file(cluster), "/nodes",
      fmt::format("has places for {} ranks, the experiment has {} (lower parallel/world_size or "
                  "give the cluster more)",
                  cluster.slots.size(), ranks));
}

/// CPU ranks run our runtime, in fp32.
void check_framework(const models::Experiment& experiment, FaultSet& faults) {
  if (experiment.framework.name != core::FrameworkKind::paceline) {
    faults.add({"experiment", "/framework",
                fmt::format("got \"{}\" on CPU ranks, which only \"paceline\" is predicted for "
                            "(--set framework=paceline, or choose a cluster of GPUs)",
                            core::spelling(experiment.framework.name))});
  }
  if (experiment.training.precision != core::Precision::fp32) {
    faults.add({"experiment", "/training/precision",
                fmt::format("got \"{}\" (CPU ranks run fp32)",
                            core::spelling(experiment.training.precision))});
  }
}

void check_memory(const CpuDevice& device, const std::string& file, FaultSet& faults) {
  if (device.memory_gib > 0) return;
  faults.add({file, place_of(device) + "/memory_gib",
              fmt::format("got {:g} (must be > 0: the host's memory)", device.memory_gib)});
}

}  // namespace

std::string cluster_file(const Cluster& cluster) {
  return cluster.origin.empty() ? "cluster " + cluster.id : cluster.origin;
}

Setup set_up(const models::Experiment& experiment, const Cluster& cluster) {
  check_slots(experiment, cluster);
  const std::string file = cluster_file(cluster);
  const int world_size = static_cast<int>(experiment.parallel.world_size);
  Setup setup;
  FaultSet faults;
  check_framework(experiment, faults);
  for (int rank = 0; rank < world_size; ++rank) {
    try {
      const CpuDevice& device = cluster.device_of(rank);
      const int node = cluster.slots[static_cast<std::size_t>(rank)].node;
      const int on_node = cluster.active_ranks_on_node(node, world_size);
      check_memory(device, file, faults);
      setup.devices.push_back(&device);
      setup.ranks_on_node.push_back(on_node);
      setup.levels.push_back(level_of(device, on_node, file, faults));
    } catch (const core::ConfigError& error) {
      faults.add_all(error.faults());
    }
  }
  faults.throw_if_any();
  for (int rank = 0; rank < world_size; ++rank) {
    setup.programs.push_back(models::lower_training(experiment, rank));
  }
  models::check_communicators(setup.programs);
  return setup;
}

World cost_setup(const Setup& setup, const Cluster& cluster) {
  std::vector<KernelCost> kernels;
  for (std::size_t rank = 0; rank < setup.programs.size(); ++rank) {
    const CpuDevice& device = *setup.devices[rank];
    const auto level = setup.levels[rank] - device.levels.data();
    kernels.emplace_back(device, *setup.levels[rank], cluster_file(cluster),
                         fmt::format("{}/levels/{}/kernels", place_of(device), level));
  }
  ExchangeCost exchanges(cluster);
  FaultSet faults;
  World world = cost_world(setup.programs, kernels, exchanges, faults);
  for (const KernelCost& cost : kernels) cost.report_missing(faults);
  faults.throw_if_any();
  return world;
}

}  // namespace paceline::sim
