#pragma once

#include "hardware_profiles/capabilities.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// The Program of one rank for one training step on a device that can do `capabilities`: on a CPU
/// rank that of our runtime, whatever the framework (callers refuse others there); on a GPU that of
/// the experiment's framework. Throws `core::InvariantError` if `rank` is not in the experiment's
/// world, `core::ConfigError` if the framework cannot run the experiment on such a device.
[[nodiscard]] Program lower_training(const Experiment& experiment, int rank,
                                     const hardware_profiles::DeviceCapabilities& capabilities =
                                         hardware_profiles::DeviceCapabilities::cpu_rank());

/// The same model's forward pass over `images` images with the loss and no gradient: parameters
/// keep the ids, names and storage layout of `lower_training`.
[[nodiscard]] Program lower_evaluation(const Experiment& experiment, std::int64_t images);

}  // namespace paceline::models
