#pragma once

#include "sim/memory/memory_fit.hpp"
#include "sim/predict/predict.hpp"

namespace paceline::sim {

/// Whether rank 0 is placed on a GPU. Throws `core::ConfigError` if the cluster has too few places,
/// or if the job mixes CPU ranks with GPUs.
[[nodiscard]] bool runs_on_gpus(const models::Experiment& experiment,
                                const hardware_profiles::Cluster& cluster);

/// The prediction of a job on GPUs. Ranks on the same kind of card with the same micro-batch are
/// simulated once; the report's entries say how many each stands for.
[[nodiscard]] Prediction predict_on_gpus(const models::Experiment& experiment,
                                         const hardware_profiles::Cluster& cluster,
                                         bool with_trace);

/// Device memory of one rank: tensors by the allocator's count, library workspaces and the CUDA
/// context. `total` is what nvidia-smi shows where the allocator holds no more than it uses.
[[nodiscard]] MemoryFit gpu_memory_fit(const models::Program& program,
                                       const hardware_profiles::Gpu& gpu,
                                       core::Bytes allocation_granularity);

/// The most images a micro-step of that rank may have on its card; 0 if not even one fits.
[[nodiscard]] std::int64_t largest_micro_batch_on(const models::Experiment& experiment, int rank,
                                                  const hardware_profiles::Gpu& gpu);

}  // namespace paceline::sim
