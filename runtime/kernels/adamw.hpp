#pragma once

#include <cstdint>
#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

/// AdamW (Loshchilov and Hutter, arXiv 1711.05101) as torch.optim.AdamW computes it, in place.
/// With g the gradient and t the number of this step, counted from 1:
/// p *= 1 - lr · weight_decay; m += (1 - beta1) · (g - m); v = beta2 · v + (1 - beta2) · g²;
/// p -= lr / (1 - beta1^t) · m / (√v / √(1 - beta2^t) + epsilon).
/// Throws `core::InvariantError` if `step` is not positive.
template <class Scalar>
void adamw(const models::ElementsShape& shape, const models::OptimizerSettings& settings,
           std::int64_t step, std::span<const Scalar> gradients, std::span<Scalar> parameters,
           std::span<Scalar> first_moment, std::span<Scalar> second_moment,
           models::WorkCount& count);

}  // namespace paceline::runtime::kernels
