#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.hpp"

namespace paceline::runtime {

/// A fixed fp32 product, 256 × 256 × 256, that brackets every timed CPU step with the same threads.
/// Two idle cores of one machine give step times that differ by 11 to 73 % between identical
/// processes, but only by 2 to 11 % after division by this product's time (docs/formulas.md,
/// "Normalised time").
class ReferenceProduct {
 public:
  ReferenceProduct();
  /// Multiplies once, so that the operands are back in the caches that a step has used, then
  /// `repeats` times; nanoseconds of the latter together.
  std::int64_t run(int repeats);
  [[nodiscard]] static core::Flops flops();
  /// GFLOP/s of `repeats` products in `nanoseconds`.
  [[nodiscard]] static double gflop_per_s(int repeats, std::int64_t nanoseconds);

 private:
  void multiply();

  std::vector<float> a_, b_, c_;
};

}  // namespace paceline::runtime
