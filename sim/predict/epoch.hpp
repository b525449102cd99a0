#pragma once

#include <cstdint>

#include "models/experiment.hpp"

namespace paceline::sim {

/// Optimizer steps that pass once over `samples` images.
/// Equal micro-batches, as PyTorch's DistributedSampler deals images:
///   ceil(ceil(ceil(samples / world) / micro_batch) / accumulation).
/// Unequal ones: ceil(samples / global batch).
[[nodiscard]] std::int64_t steps_per_epoch(const models::Experiment& experiment,
                                           std::int64_t samples);

}  // namespace paceline::sim
