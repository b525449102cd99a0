#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <type_traits>

/// Elementary functions that a compiler can vectorise: no calls, no branches that stay branches.
/// The C library's erff and expf, one element at a time, would dominate a training step on a CPU.
/// In double they are the C library's. Only for the kernels' own sources.
namespace paceline::runtime::kernels {

/// e^x for x ≤ 0 (NaN stays NaN); zero below -87.3, where the result would be subnormal.
/// Range reduction and polynomial of Cephes' expf (S. L. Moshier, netlib.org/cephes), as in
/// Eigen's `pexp`. Error at most 1.01 ulp.
template <class Scalar>
[[gnu::always_inline]] inline Scalar exp_not_positive(Scalar x) {
  if constexpr (std::is_same_v<Scalar, double>) {
    return std::exp(x);
  } else {
    constexpr float lowest = -87.3F;
    constexpr float log2_e = 1.44269504F;
    constexpr float ln2_high = 0.693359375F;
    constexpr float ln2_low = -2.12194440e-4F;
    // Adding 1.5·2^23 leaves the nearest integer in the low bits of the mantissa.
    constexpr float round_to_integer = 12582912.0F;
    const float bounded = x < lowest ? lowest : x;
    const float shifted = bounded * log2_e + round_to_integer;
    const float n = shifted - round_to_integer;
    float r = bounded - n * ln2_high;
    r = r - n * ln2_low;
    float p = 1.9875691500e-4F;
    p = p * r + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * (r * r) + r;
    p = p + 1.0F;
    // 2^n: n ≥ -126, so the biased exponent stays positive.
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) + 127U) << 23U;
    const float result = p * std::bit_cast<float>(exponent);
    return x < lowest ? 0.0F : result;
  }
}

/// The standard normal distribution at h: Φ(h) = (1 + erf(h / √2)) / 2 and its density.
template <class Scalar>
struct Normal {
  Scalar below, density;
};

/// In float, two minimax approximations found with Remez' exchange in 40 digits:
/// |h| ≤ 1.3: Φ(h) = 1/2 + h · Q(h²), Q of degree 5, relative error 1.5e-8;
/// beyond: Φ(-a) = e^(-a²/2) · t · P(t) with t = 1 / (1 + 0.4 a), P of degree 6 (of
/// erfcx(a / √2) / (2 t) for a ≤ 13.3), relative error 4.8e-8.
/// So the tail keeps its relative accuracy and shares its exponential with the density. Error of Φ,
/// rounding included: at most 7e-8 with fused multiply-adds, 9e-8 without.
template <class Scalar>
[[gnu::always_inline]] inline Normal<Scalar> normal_at(Scalar h) {
  const Scalar squared = h * h;
  const Scalar e = exp_not_positive(Scalar(-0.5) * squared);
  const Scalar density = std::numbers::inv_sqrtpi_v<Scalar> * std::numbers::sqrt2_v<Scalar> / 2 * e;
  if constexpr (std::is_same_v<Scalar, double>) {
    return {std::erfc(-h / std::numbers::sqrt2) / 2, density};
  } else {
    constexpr float inner_until = 1.3F;
    const float magnitude = std::fabs(h);
    float q = -6.632305324e-6F;
    q = q * squared + 1.103859588e-4F;
    q = q * squared - 1.182996955e-3F;
    q = q * squared + 9.971847817e-3F;
    q = q * squared - 6.649013023e-2F;
    q = q * squared + 3.989422744e-1F;
    const float inner = h * q + 0.5F;
    const float t = 1.0F / (1.0F + 0.4F * magnitude);
    float p = 0.069369669F;
    p = p * t - 0.189561188F;
    p = p * t + 0.108519361F;
    p = p * t + 0.05391358227F;
    p = p * t + 0.1394532055F;
    p = p * t + 0.1590365155F;
    p = p * t + 0.1595993197F;
    const float tail = e * (p * t);
    const float outer = h > 0.0F ? 1.0F - tail : tail;
    return {magnitude > inner_until ? outer : inner, density};
  }
}

/// The hyperbolic tangent. Error at most 9e-8.
template <class Scalar>
[[gnu::always_inline]] inline Scalar hyperbolic_tangent(Scalar x) {
  if constexpr (std::is_same_v<Scalar, double>) {
    return std::tanh(x);
  } else {
    const float e = exp_not_positive(-2.0F * std::fabs(x));
    return std::copysign((1.0F - e) / (1.0F + e), x);
  }
}

}  // namespace paceline::runtime::kernels
