#pragma once

#include <string_view>
#include <vector>

#include "models/program.hpp"

namespace paceline::models {

/// A quantity that a kernel's time is proportional to, for one part of it.
struct KernelFeature {
  std::string_view name;
  double amount = 0;
};

/// Kernels whose times follow one model: an operation kind, and for products which operands are
/// transposed (`matmul_nt` forward, `matmul_nn` input gradient, `matmul_tn` weight gradient).
[[nodiscard]] std::string_view kernel_class(const Operation& operation);

/// What the time of `operation` on a CPU is a non-negative sum of: one call, arithmetic, packing
/// and streaming terms. Memory-bound classes have hinges where a core's caches are exceeded.
/// Source: docs/formulas.md, "CPU kernel time". Empty for collectives.
[[nodiscard]] std::vector<KernelFeature> kernel_features(const Operation& operation);

}  // namespace paceline::models
