#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

/// c[m,n] = op(a)[m,k] · op(b)[k,n] (+ bias[n] on each row), row-major; `a` is stored [k,m] if it
/// is transposed, `b` [n,k]. `bias` is empty where there is none. FLOPs: 2·m·n·k. Throws
/// `core::InvariantError` if a size differs from the shape, as all kernels do.
template <class Scalar>
void matmul(const models::MatmulShape& shape, std::span<const Scalar> a, std::span<const Scalar> b,
            std::span<const Scalar> bias, std::span<Scalar> c, Write write,
            models::WorkCount& count);

/// db[width] = Σ over rows of dy[rows, width].
template <class Scalar>
void bias_gradient(const models::RowsShape& shape, std::span<const Scalar> dy, std::span<Scalar> db,
                   Write write, models::WorkCount& count);

}  // namespace paceline::runtime::kernels
