#pragma once

#include <cstdint>

#include "models/program.hpp"
#include "runtime/training/storage.hpp"

namespace paceline::runtime {

/// Fills the parameters as timm initialises a Vision Transformer: linear weights and positions from
/// a normal of 0.02 (weights cut at two standard deviations), the class token almost zero, the
/// patch embedding uniform in ±1/√fan-in, norms one, other biases zero. Depends on the seed alone,
/// so every rank starts from the same weights.
void fill_initial_weights(const models::Program& program, std::uint64_t seed,
                          Storage<float>& storage);

/// Copies the parameters of one Program's storage to another's of the same model.
void copy_parameters(const models::Program& from_program, const Storage<float>& from,
                     const models::Program& to_program, Storage<float>& to);

}  // namespace paceline::runtime
