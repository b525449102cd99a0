#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

/// Per row: mean, rstd = 1 / √(variance + epsilon) with the biased variance in a second pass over
/// the row, y = (x - mean) · rstd · weight + bias.
template <class Scalar>
void layer_norm(const models::RowsShape& shape, double epsilon, std::span<const Scalar> x,
                std::span<const Scalar> weight, std::span<const Scalar> bias, std::span<Scalar> y,
                std::span<Scalar> mean, std::span<Scalar> rstd, models::WorkCount& count);

/// With n = (x - mean) · rstd and g = dy · weight, per row:
/// dx = rstd · (g - mean of g - n · mean of g·n); d_weight = Σ rows of dy · n, d_bias = Σ rows of
/// dy. `write` applies to d_weight and d_bias.
template <class Scalar>
void layer_norm_gradient(const models::RowsShape& shape, std::span<const Scalar> dy,
                         std::span<const Scalar> x, std::span<const Scalar> weight,
                         std::span<const Scalar> mean, std::span<const Scalar> rstd,
                         std::span<Scalar> dx, std::span<Scalar> d_weight, std::span<Scalar> d_bias,
                         Write write, models::WorkCount& count);

}  // namespace paceline::runtime::kernels
