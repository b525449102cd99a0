#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

/// Elementary functions that a compiler can vectorise: no calls, no branches that stay branches.
/// The C library's erff and expf, one element at a time, would dominate a training step on a CPU.
/// In double they are the C library's. Only for the kernels' own sources.
namespace paceline::runtime::kernels {

/// e^x for x ≤ 0 (NaN stays NaN); zero below -87.3, where the result would be subnormal.
/// Range reduction and polynomial of Cephes' expf (S. L. Moshier, netlib.org/cephes), as in
/// Eigen's `pexp`. Error at most 2 ulp.
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

/// The error function. In float: N. Juffa's two polynomials
/// (stackoverflow.com/questions/35148198), at most 1 ulp with a correctly rounded expf; with the
/// one above, at most 2 ulp.
template <class Scalar>
[[gnu::always_inline]] inline Scalar error_function(Scalar x) {
  if constexpr (std::is_same_v<Scalar, double>) {
    return std::erf(x);
  } else {
    constexpr float one_from = 4.0F;  // erf rounds to 1 from 3.92
    const float magnitude = std::fabs(x);
    const float t = magnitude > one_from ? one_from : magnitude;
    const float s = t * t;
    float q = -1.72853470e-5F * t + 3.83197126e-4F;
    const float u = -3.88396438e-3F * t + 2.42546219e-2F;
    q = q * s + u;
    q = q * t - 1.06777877e-1F;
    q = q * t - 6.34846687e-1F;
    q = q * t - 1.28717512e-1F;
    q = q * t - t;
    const float outer = 1.0F - exp_not_positive(q);
    float p = -5.96761703e-4F;
    p = p * s + 4.99119423e-3F;
    p = p * s - 2.67681349e-2F;
    p = p * s + 1.12819925e-1F;
    p = p * s - 3.76125336e-1F;
    p = p * s + 1.28379166e-1F;
    const float inner = p * t + t;
    return std::copysign(magnitude > 0.921875F ? outer : inner, x);
  }
}

/// The hyperbolic tangent, to an absolute error of 2 ulp of 1.
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
