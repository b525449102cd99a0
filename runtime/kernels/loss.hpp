#pragma once

#include <cstdint>
#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

/// loss[1] = image_weight · Σ over images of -log softmax(logits)[label]; probabilities = softmax
/// of each row of logits. `write` applies to the loss. Throws `core::InvariantError` for a label
/// outside the classes.
template <class Scalar>
void cross_entropy(const models::LossShape& shape, std::span<const Scalar> logits,
                   std::span<const std::int32_t> labels, std::span<Scalar> loss,
                   std::span<Scalar> probabilities, Write write, models::WorkCount& count);

/// d_logits = image_weight · (probabilities - one at the label).
template <class Scalar>
void cross_entropy_gradient(const models::LossShape& shape, std::span<const Scalar> probabilities,
                            std::span<const std::int32_t> labels, std::span<Scalar> d_logits,
                            models::WorkCount& count);

}  // namespace paceline::runtime::kernels
