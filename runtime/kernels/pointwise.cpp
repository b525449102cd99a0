#include "runtime/kernels/pointwise.hpp"

#include <numbers>

#include "runtime/kernels/blocks.hpp"
#include "runtime/kernels/elementary.hpp"

namespace paceline::runtime::kernels {
namespace {

using core::GeluForm;

/// √(2/π)
template <class Scalar>
constexpr Scalar tanh_factor = std::numbers::inv_sqrtpi_v<Scalar> * std::numbers::sqrt2_v<Scalar>;
template <class Scalar>
constexpr Scalar tanh_cubic = Scalar(0.044715);

struct ExactGelu {
  template <class Scalar>
  [[gnu::always_inline]] static Scalar value(Scalar h) {
    return h * normal_at(h).below;
  }
  template <class Scalar>
  [[gnu::always_inline]] static Scalar slope(Scalar h) {
    const Normal<Scalar> normal = normal_at(h);
    return normal.below + h * normal.density;
  }
};

struct TanhGelu {
  template <class Scalar>
  [[gnu::always_inline]] static Scalar value(Scalar h) {
    const Scalar inner = tanh_factor<Scalar> * (h + tanh_cubic<Scalar> * h * h * h);
    return Scalar(0.5) * h * (Scalar(1) + hyperbolic_tangent(inner));
  }
  template <class Scalar>
  [[gnu::always_inline]] static Scalar slope(Scalar h) {
    const Scalar t = hyperbolic_tangent(tanh_factor<Scalar> * (h + tanh_cubic<Scalar> * h * h * h));
    const Scalar inner_slope =
        tanh_factor<Scalar> * (Scalar(1) + Scalar(3) * tanh_cubic<Scalar> * h * h);
    return Scalar(0.5) * (Scalar(1) + t) + Scalar(0.5) * h * (Scalar(1) - t * t) * inner_slope;
  }
};

template <class Gelu, class Scalar>
void gelu_block(const Scalar* h, std::int64_t begin, std::int64_t end, Scalar* g) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) g[i] = Gelu::value(h[i]);
}

template <class Gelu, class Scalar>
void gelu_gradient_block(const Scalar* dg, const Scalar* h, std::int64_t begin, std::int64_t end,
                         Scalar* dh) {
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) dh[i] = dg[i] * Gelu::slope(h[i]);
}

}  // namespace

template <class Scalar>
void gelu(const models::ElementsShape& shape, GeluForm form, std::span<const Scalar> h,
          std::span<Scalar> g, models::WorkCount& count) {
  require_size("gelu", "h", h, shape.elements);
  require_size("gelu", "g", g, shape.elements);
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    if (form == GeluForm::exact) {
      gelu_block<ExactGelu>(h.data(), begin, end, g.data());
    } else {
      gelu_block<TanhGelu>(h.data(), begin, end, g.data());
    }
  });
  ++count.calls;
  count_read(count, h);
  count_written(count, g);
}

template <class Scalar>
void gelu_gradient(const models::ElementsShape& shape, GeluForm form, std::span<const Scalar> dg,
                   std::span<const Scalar> h, std::span<Scalar> dh, models::WorkCount& count) {
  require_size("gelu_gradient", "dg", dg, shape.elements);
  require_size("gelu_gradient", "h", h, shape.elements);
  require_size("gelu_gradient", "dh", dh, shape.elements);
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    if (form == GeluForm::exact) {
      gelu_gradient_block<ExactGelu>(dg.data(), h.data(), begin, end, dh.data());
    } else {
      gelu_gradient_block<TanhGelu>(dg.data(), h.data(), begin, end, dh.data());
    }
  });
  ++count.calls;
  count_read(count, dg, h);
  count_written(count, dh);
}

template <class Scalar>
void add(const models::ElementsShape& shape, std::span<const Scalar> a, std::span<const Scalar> b,
         std::span<Scalar> sum, models::WorkCount& count) {
  require_size("add", "a", a, shape.elements);
  require_size("add", "b", b, shape.elements);
  require_size("add", "sum", sum, shape.elements);
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    const Scalar* const left = a.data();
    const Scalar* const right = b.data();
    Scalar* const to = sum.data();
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) to[i] = left[i] + right[i];
  });
  ++count.calls;
  count_read(count, a, b);
  count_written(count, sum);
}

template decltype(gelu<float>) gelu<float>;
template decltype(gelu<double>) gelu<double>;
template decltype(gelu_gradient<float>) gelu_gradient<float>;
template decltype(gelu_gradient<double>) gelu_gradient<double>;
template decltype(add<float>) add<float>;
template decltype(add<double>) add<double>;

}  // namespace paceline::runtime::kernels
