#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

/// Clipping all gradients by their common norm, as torch.nn.utils.clip_grad_norm_ does:
/// g *= min(1, clip_norm / (‖all g‖₂ + 1e-6)). In three kernels, since gradients lie in several
/// buckets.
namespace paceline::runtime::kernels {

/// square[0] = Σ g², summed in double in an order that depends on the shape alone.
template <class Scalar>
void gradient_norm(const models::ElementsShape& shape, std::span<const Scalar> gradients,
                   std::span<Scalar> square, models::WorkCount& count);

/// coefficient[0] = min(1, clip_norm / (√(Σ squares) + 1e-6)).
template <class Scalar>
void clip_coefficient(const models::ElementsShape& shape, double clip_norm,
                      std::span<const Scalar> squares, std::span<Scalar> coefficient,
                      models::WorkCount& count);

/// values *= coefficient[0], in place.
template <class Scalar>
void scale(const models::ElementsShape& shape, std::span<const Scalar> coefficient,
           std::span<Scalar> values, models::WorkCount& count);

}  // namespace paceline::runtime::kernels
