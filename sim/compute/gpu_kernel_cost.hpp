#pragma once

#include <cstdint>

#include "core/time.hpp"
#include "hardware_profiles/gpu.hpp"
#include "models/program.hpp"

namespace paceline::sim {

/// What share of a datasheet's rate kernels reach where nothing was measured, each with its source
/// in docs/formulas_simulation.md, "GPU kernel time".
struct GenericEfficiency {
  double tensor_core_product = 0.82;
  double fp32_product = 0.90;
  double product_ramp_k = 130;  // a tile's fixed cost, in steps of the inner dimension
  double attention_forward = 0.18;
  double attention_backward = 0.14;
  double fp32_attention_forward = 0.29;  // of the fp32 rate, for the memory-efficient kernel
  double fp32_attention_backward = 0.25;
  double convolution = 0.40;  // of the fp32 rate, in every type
  double convolution_gradient = 0.55;
  double elementwise = 0.60;
  double optimizer = 0.75;
  double layer_norm = 0.42;
  double layer_norm_gradient = 0.29;
  double column_sum = 0.35;
  double layout_change = 0.25;    // stacks and copies that change the layout
  double launch_floor_us = 2.0;  // an empty kernel, from the end of the one before
};

/// Times of kernels on one GPU from its datasheet:
///   launches × floor + max(FLOPs / (peak × efficiency × quantisation), bytes / (bandwidth ×
///   efficiency)).
/// Range: uncalibrated, so the answer carries a wide interval.
class GpuKernelCost {
 public:
  /// The GPU must outlive the object.
  explicit GpuKernelCost(const hardware_profiles::Gpu& gpu, GenericEfficiency efficiency = {});

  /// Throws `core::RunError` beyond `core::time_limit`.
  [[nodiscard]] core::Time time_of(const models::Operation& operation) const;

  /// FLOP/s of products of that type: the datasheet's; a type that the chip has not, or has slower
  /// than fp32 (16 bits on Pascal), is computed in fp32.
  [[nodiscard]] double peak_flop_per_s(core::DataType type) const;

  /// Share of the streaming multiprocessors' time that tiles of a product fill: the last wave is
  /// seldom full, tiles at the edge are partly empty.
  [[nodiscard]] double quantisation(const models::MatmulShape& shape) const;

 private:
  [[nodiscard]] double arithmetic_s(const models::Operation& operation) const;
  [[nodiscard]] double memory_s(const models::Operation& operation) const;

  const hardware_profiles::Gpu& gpu_;
  GenericEfficiency efficiency_;
};

}  // namespace paceline::sim
