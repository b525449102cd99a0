#pragma once

#include <cstdint>
#include <random>

namespace paceline::core {

/// Deterministic random numbers: the same sequence on every platform and library, which the
/// standard distributions do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] std::uint64_t next() { return engine_(); }
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform();
  /// Uniform in [0, bound), without bias. `bound` must be > 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// Standard normal (Box and Muller 1958, both values used).
  [[nodiscard]] double normal();

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace paceline::core
