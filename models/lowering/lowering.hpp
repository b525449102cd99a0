#pragma once

#include "models/experiment.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// The Program of one rank for one training step of the framework `paceline` on CPU ranks.
/// Throws `core::InvariantError` if `rank` is not in the experiment's world.
[[nodiscard]] Program lower_training(const Experiment& experiment, int rank);

/// The same model's forward pass over `images` images with the loss and no gradient: parameters
/// keep the ids, names and storage layout of `lower_training`.
[[nodiscard]] Program lower_evaluation(const Experiment& experiment, std::int64_t images);

}  // namespace paceline::models
