#pragma once

#include <array>
#include <cstdint>

#include "core/vocabulary.hpp"

namespace paceline::models {

/// How a framework runs the optimizer: one kernel for many tensors, one for each elementary
/// operation on many tensors, or one for each operation and tensor.
enum class OptimizerKernels : std::uint8_t { fused, foreach, single_tensor };

}  // namespace paceline::models

namespace paceline::core {

template <>
struct Spelling<models::OptimizerKernels> {
  static constexpr std::array words{"fused", "foreach", "single_tensor"};
};

}  // namespace paceline::core
