#pragma once

#include <cstdint>

#include "core/time.hpp"
#include "hardware_profiles/gpu.hpp"
#include "models/program.hpp"

namespace paceline::sim {

/// What kernels reach where nothing was measured on the card, each with its source in
/// docs/formulas_simulation.md, "GPU kernel time". Passes over memory are bound by the memory, or
/// by what a streaming multiprocessor can move in a clock with that kind of access, whichever is
/// less.
struct GenericEfficiency {
  double tensor_core_product = 0.82;  // of the datasheet's rate
  double fp32_product = 0.90;
  double product_ramp_k = 130;  // a tile's fixed cost, in steps of the inner dimension
  double memory = 0.88;         // of the datasheet's bandwidth
  // Useful FLOPs of 16-bit attention a clock and multiprocessor; at most half of the product rate.
  double attention_forward = 620;
  double attention_backward = 375;
  double fp32_attention_forward = 0.29;  // of the fp32 rate, for the memory-efficient kernel
  double fp32_attention_backward = 0.25;
  double convolution = 0.40;  // of the fp32 rate, in every type
  double convolution_gradient = 0.55;
  // Bytes a clock and multiprocessor.
  double elementwise = 11.5;
  double optimizer = 13.8;
  double layer_norm = 7.8;
  double layer_norm_gradient = 5.2;
  double column_sum = 5.5;
  double layout_change = 4.5;    // stacks and copies that change the layout
  double launch_floor_us = 2.0;  // an empty kernel, from the end of the one before
};

/// Times of kernels on one GPU from its datasheet:
///   launches × floor + max(FLOPs / (peak × efficiency × quantisation),
///                          bytes / min(bandwidth × efficiency, bytes a clock × clock × SMs)).
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
  /// Clocks of all multiprocessors together, a second.
  [[nodiscard]] double clocks_per_s() const;
  [[nodiscard]] double arithmetic_s(const models::Operation& operation) const;
  [[nodiscard]] double memory_s(const models::Operation& operation) const;

  const hardware_profiles::Gpu& gpu_;
  GenericEfficiency efficiency_;
};

}  // namespace paceline::sim
