#include "sim/memory/memory_fit.hpp"

#include <cmath>

#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"

namespace paceline::sim {

MemoryFit memory_fit(const models::Program& program, core::Bytes capacity) {
  const models::MemoryPlan plan = models::plan_memory(program);
  MemoryFit fit{.total = plan.arena,
                .at_peak = plan.peak_by_category,
                .peak_operation = {},
                .capacity = capacity};
  if (plan.peak_operation < program.operations.size()) {
    fit.peak_operation = program.operations[plan.peak_operation].name();
  }
  return fit;
}

core::Bytes memory_share(const hardware_profiles::CpuDevice& device, int ranks_on_node) {
  constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;
  return core::Bytes(static_cast<std::int64_t>(
      std::floor(device.memory_gib * bytes_per_gib / static_cast<double>(ranks_on_node))));
}

std::int64_t largest_micro_batch(const models::Experiment& experiment, int rank,
                                 core::Bytes capacity) {
  const auto fits = [&](std::int64_t images) {
    models::Experiment changed = experiment;
    const auto world = static_cast<std::size_t>(experiment.parallel.world_size);
    changed.training.micro_batch.resize(world, experiment.training.micro_batch.front());
    changed.training.micro_batch[static_cast<std::size_t>(rank)] = images;
    return memory_fit(models::lower_training(changed, rank), capacity).fits();
  };
  std::int64_t too_many = experiment.micro_batch_of(rank) + 1;
  std::int64_t fitting = 0;
  while (too_many - fitting > 1) {
    const std::int64_t middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  return fitting;
}

}  // namespace paceline::sim
