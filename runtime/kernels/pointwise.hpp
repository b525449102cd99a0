#pragma once

#include <span>

#include "core/vocabulary.hpp"
#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

/// g = h · Φ(h): exact, Φ(h) = (1 + erf(h / √2)) / 2; or Hendrycks and Gimpel's approximation
/// (arXiv 1606.08415), Φ(h) = (1 + tanh(√(2/π) · (h + 0.044715 h³))) / 2.
template <class Scalar>
void gelu(const models::ElementsShape& shape, core::GeluForm form, std::span<const Scalar> h,
          std::span<Scalar> g, models::WorkCount& count);

/// dh = dg · d(h · Φ(h)) / dh.
template <class Scalar>
void gelu_gradient(const models::ElementsShape& shape, core::GeluForm form,
                   std::span<const Scalar> dg, std::span<const Scalar> h, std::span<Scalar> dh,
                   models::WorkCount& count);

template <class Scalar>
void add(const models::ElementsShape& shape, std::span<const Scalar> a, std::span<const Scalar> b,
         std::span<Scalar> sum, models::WorkCount& count);

}  // namespace paceline::runtime::kernels
