#include "runtime/kernels/reduce.hpp"

#include <cstddef>

namespace paceline::runtime::kernels {

void add_into(std::span<float> target, std::span<const float> added) {
  float* const to = target.data();
  const float* const from = added.data();
  for (std::size_t i = 0; i < target.size(); ++i) to[i] += from[i];
}

}  // namespace paceline::runtime::kernels
