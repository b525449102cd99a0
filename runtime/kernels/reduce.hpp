#pragma once

#include <span>

namespace paceline::runtime::kernels {

/// target[i] += added[i]. Both of the same size.
void add_into(std::span<float> target, std::span<const float> added);

}  // namespace paceline::runtime::kernels
