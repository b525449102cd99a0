#include "sim/predict/epoch.hpp"

#include <algorithm>

namespace paceline::sim {
namespace {

std::int64_t divided_up(std::int64_t amount, std::int64_t by) { return (amount + by - 1) / by; }

}  // namespace

std::int64_t steps_per_epoch(const models::Experiment& experiment, std::int64_t samples) {
  const auto& batches = experiment.training.micro_batch;
  const bool equal = std::all_of(batches.begin(), batches.end(),
                                 [&](std::int64_t batch) { return batch == batches.front(); });
  if (!equal) return divided_up(samples, experiment.global_batch());
  const std::int64_t of_rank = divided_up(samples, experiment.parallel.world_size);
  const std::int64_t micro_steps = divided_up(of_rank, batches.front());
  return divided_up(micro_steps, experiment.training.accumulation_steps);
}

}  // namespace paceline::sim
