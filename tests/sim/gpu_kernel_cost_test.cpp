#include "sim/compute/gpu_kernel_cost.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "core/random.hpp"

namespace paceline::sim {
namespace {

using core::Bytes;
using core::DataType;
using core::Flops;
using core::OperationKind;
using models::MatmulShape;
using models::Operation;

void set_peak(hardware_profiles::Gpu& gpu, DataType type, double tflop_per_s) {
  hardware_profiles::Sourced<double> peak;
  peak.value = tflop_per_s;
  gpu.dense_peak_tflop_per_s[type] = peak;
}

/// 132 multiprocessors at 1 GHz, together 132e9 clocks a second; 1000 GB/s, 10 TFLOP/s in fp32 and
/// 100 in fp16; no other type.
hardware_profiles::Gpu card() {
  hardware_profiles::Gpu gpu;
  gpu.streaming_multiprocessors.value = 132;
  gpu.boost_clock_mhz.value = 1000;
  gpu.memory_bandwidth_gb_per_s.value = 1000;
  set_peak(gpu, DataType::fp32, 10);
  set_peak(gpu, DataType::fp16, 100);
  return gpu;
}

/// Half of every rate of the datasheet, no floor, and multiprocessors that no pass over memory
/// waits for: 100 bytes a clock are 13,200 GB/s.
GenericEfficiency halves() {
  GenericEfficiency half;
  half.tensor_core_product = half.fp32_product = half.memory = 0.5;
  half.fp32_attention_forward = half.fp32_attention_backward = 0.5;
  half.convolution = half.convolution_gradient = 0.5;
  half.product_ramp_k = 130;
  half.elementwise = half.optimizer = half.layer_norm = half.layer_norm_gradient = 100;
  half.column_sum = half.layout_change = 100;
  half.launch_floor_us = 0;
  return half;
}

double us(const GpuKernelCost& cost, const Operation& operation) {
  return cost.time_of(operation).us();
}

constexpr double picosecond = 1.001e-6;  // in µs: times are rounded up to it

Operation product(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
  return {.kind = OperationKind::matmul,
          .type = type,
          .shape = MatmulShape{.m = m, .n = n, .k = k},
          .flops = Flops(2 * m * n * k)};
}

Operation memory_bound(OperationKind kind, std::int64_t bytes) {
  return {.kind = kind, .bytes_read = Bytes(bytes / 2), .bytes_written = Bytes(bytes / 2)};
}

// ---- quantisation
// --------------------------------------------------------------------------------

// 66 · 2 tiles of 128 × 256 are one on each of 132 multiprocessors.
TEST(Quantisation, is_one_where_whole_tiles_fill_whole_waves) {
  const auto gpu = card();
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 66 * 128, .n = 2 * 256, .k = 64}), 1.0);
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 132 * 128, .n = 2 * 256, .k = 64}), 1.0);
}

// One of 4096 elements of the smallest tile, 64 × 64, on one of 132 multiprocessors. The smallest
// is the fifth choice: 0.95⁴ of the rate of the largest.
TEST(Quantisation, of_a_single_element_is_a_part_of_one_tile) {
  const auto gpu = card();
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 1, .n = 1, .k = 1}),
                   std::pow(0.95, 4) / 4096 / 132);
}

// 67 · 2 = 134 tiles of 128 × 256 need two waves of 132: 134/264 = 0.51. Tiles of 64 × 64 are
// 134 · 8 = 1072 in nine waves of 132: 0.95⁴ · 1072/1188 = 0.73, more than any size between
// (128 × 192: 0.64, 128 × 128: 0.61, 64 × 128: 0.70).
TEST(Quantisation, takes_smaller_tiles_where_the_last_wave_would_be_almost_empty) {
  const auto gpu = card();
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 67 * 128, .n = 2 * 256, .k = 64}),
                   std::pow(0.95, 4) * 1072 / 1188);
}

// 8 tiles of 64 × 64; a sum over 4096 may be split in four of 1024: 32 of 132.
TEST(Quantisation, splits_a_long_sum_over_idle_multiprocessors) {
  const auto gpu = card();
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 128, .n = 256, .k = 4096}),
                   std::pow(0.95, 4) * 32 / 132);
}

TEST(Quantisation, counts_the_tiles_of_all_products_of_a_batch) {
  const auto gpu = card();
  EXPECT_DOUBLE_EQ(GpuKernelCost(gpu).quantisation({.m = 128, .n = 256, .k = 64, .batch = 2 * 132}),
                   1.0);
}

// ---- roofline
// ------------------------------------------------------------------------------------

// 2 · 8448 · 512 · 130 = 1,124,597,760 FLOPs; whole waves; k / (k + 130) = 1/2; so
// 100e12 · 1/2 · 1/2 = 25e12 a second: 44.9839104 µs.
TEST(GpuKernelCost, of_a_large_product_is_its_arithmetic) {
  const auto gpu = card();
  EXPECT_NEAR(us(GpuKernelCost(gpu, halves()), product(8448, 512, 130, DataType::fp16)), 44.9839104,
              picosecond);
}

// 1,000,000 bytes at 1000 · 1/2 GB/s: 2 µs.
TEST(GpuKernelCost, of_an_elementwise_kernel_is_its_bytes) {
  const auto gpu = card();
  EXPECT_NEAR(us(GpuKernelCost(gpu, halves()), memory_bound(OperationKind::add, 1'000'000)), 2.0,
              picosecond);
}

// The product above with 50,000,000 bytes: 100 µs of memory hide 45 µs of arithmetic.
TEST(GpuKernelCost, is_the_larger_of_arithmetic_and_memory_and_not_their_sum) {
  const auto gpu = card();
  Operation operation = product(8448, 512, 130, DataType::fp16);
  operation.bytes_read = Bytes(50'000'000);
  EXPECT_NEAR(us(GpuKernelCost(gpu, halves()), operation), 100.0, picosecond);
  operation.bytes_read = Bytes(5'000'000);  // 10 µs
  EXPECT_NEAR(us(GpuKernelCost(gpu, halves()), operation), 44.9839104, picosecond);
}

// 3 kernels of 2 µs and 2 µs of work.
TEST(GpuKernelCost, adds_a_floor_for_each_launch) {
  const auto gpu = card();
  GenericEfficiency with_floor = halves();
  with_floor.launch_floor_us = 2;
  Operation operation = memory_bound(OperationKind::add, 1'000'000);
  operation.launches = 3;
  EXPECT_NEAR(us(GpuKernelCost(gpu, with_floor), operation), 3 * 2 + 2, picosecond);
  operation.launches = 0;
  EXPECT_NEAR(us(GpuKernelCost(gpu, with_floor), operation), 2, picosecond);
}

// 1,320,000 bytes at one byte a clock: 1,320,000 / 132e9 s = 10 µs; from memory 2.64 µs.
TEST(GpuKernelCost, of_a_pass_over_memory_is_bound_by_what_multiprocessors_move_in_a_clock) {
  const auto gpu = card();
  GenericEfficiency different = halves();
  different.elementwise = 10;
  different.layer_norm = 1.0 / 3;
  different.layer_norm_gradient = 1.0 / 4;
  different.column_sum = 1.0 / 5;
  different.layout_change = 1.0 / 6;
  different.optimizer = 1.0 / 7;
  const GpuKernelCost cost(gpu, different);
  const auto time = [&](OperationKind kind) { return us(cost, memory_bound(kind, 1'320'000)); };
  EXPECT_NEAR(time(OperationKind::gelu), 2.64, picosecond);
  EXPECT_NEAR(time(OperationKind::layer_norm), 30, picosecond);
  EXPECT_NEAR(time(OperationKind::softmax), 30, picosecond);
  EXPECT_NEAR(time(OperationKind::layer_norm_gradient), 40, picosecond);
  EXPECT_NEAR(time(OperationKind::bias_gradient), 50, picosecond);
  EXPECT_NEAR(time(OperationKind::copy), 60, picosecond);
  EXPECT_NEAR(time(OperationKind::concatenate), 60, picosecond);
  EXPECT_NEAR(time(OperationKind::adamw), 70, picosecond);
  EXPECT_NEAR(time(OperationKind::sgd), 70, picosecond);
}

// 1.32e9 FLOPs. 16 bits: 100 a clock are 13.2e12 a second, 100 µs; 1000 a clock would be 132e12,
// more than half of the product rate, 50e12: 26.4 µs. In fp32 10e12 · 1/2: 264 µs, as a convolution
// in any type.
TEST(GpuKernelCost, of_attention_and_convolution_has_rates_of_its_own) {
  const auto gpu = card();
  GenericEfficiency efficiency = halves();
  efficiency.attention_forward = 1000;
  efficiency.attention_backward = 100;
  const GpuKernelCost cost(gpu, efficiency);
  const auto time = [&](OperationKind kind, DataType type) {
    return us(cost, {.kind = kind, .type = type, .flops = Flops(1'320'000'000)});
  };
  EXPECT_NEAR(time(OperationKind::attention, DataType::fp16), 26.4, picosecond);
  EXPECT_NEAR(time(OperationKind::attention_gradient, DataType::fp16), 100, picosecond);
  EXPECT_NEAR(time(OperationKind::attention, DataType::fp32), 264, picosecond);
  EXPECT_NEAR(time(OperationKind::attention_gradient, DataType::fp32), 264, picosecond);
  EXPECT_NEAR(time(OperationKind::convolution, DataType::fp16), 264, picosecond);
  EXPECT_NEAR(time(OperationKind::convolution_gradient, DataType::fp16), 264, picosecond);
}

// ---- types that the chip lacks
// -------------------------------------------------------------------

TEST(GpuKernelCost, computes_a_type_that_the_chip_lacks_in_fp32) {
  const auto gpu = card();
  const GpuKernelCost cost(gpu);
  EXPECT_DOUBLE_EQ(cost.peak_flop_per_s(DataType::bf16), 10e12);
  EXPECT_EQ(cost.time_of(product(8448, 512, 768, DataType::bf16)),
            cost.time_of(product(8448, 512, 768, DataType::fp32)));
}

// GTX cards of Pascal multiply fp16 at 1/64 of their fp32 rate; libraries use fp32 there.
TEST(GpuKernelCost, computes_a_type_that_is_slower_than_fp32_in_fp32) {
  auto gpu = card();
  set_peak(gpu, DataType::fp16, 10.0 / 64);
  const GpuKernelCost cost(gpu);
  EXPECT_DOUBLE_EQ(cost.peak_flop_per_s(DataType::fp16), 10e12);
  EXPECT_EQ(cost.time_of(product(8448, 512, 768, DataType::fp16)),
            cost.time_of(product(8448, 512, 768, DataType::fp32)));
}

// ---- faster cards
// --------------------------------------------------------------------------------

constexpr std::array drawn_kinds{
    OperationKind::matmul,        OperationKind::attention, OperationKind::attention_gradient,
    OperationKind::convolution,   OperationKind::add,       OperationKind::layer_norm,
    OperationKind::bias_gradient, OperationKind::copy,      OperationKind::adamw};
constexpr std::array drawn_types{DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16};

Operation random_operation(core::Random& random) {
  Operation operation = product(1 + static_cast<std::int64_t>(random.below(20'000)),
                                1 + static_cast<std::int64_t>(random.below(4'000)),
                                1 + static_cast<std::int64_t>(random.below(4'000)),
                                drawn_types[random.below(drawn_types.size())]);
  operation.kind = drawn_kinds[random.below(drawn_kinds.size())];
  if (operation.kind != OperationKind::matmul) operation.shape = {};
  operation.bytes_read = Bytes(static_cast<std::int64_t>(random.below(1'000'000'000)));
  return operation;
}

hardware_profiles::Gpu random_card(core::Random& random) {
  hardware_profiles::Gpu gpu = card();
  gpu.streaming_multiprocessors.value = 10 + static_cast<std::int64_t>(random.below(200));
  gpu.boost_clock_mhz.value = 1000 + 2000 * random.uniform();
  gpu.memory_bandwidth_gb_per_s.value = 100 + 5000 * random.uniform();
  for (const DataType type : drawn_types) {
    if (type == DataType::fp32 || random.below(3) > 0) {
      set_peak(gpu, type, 1 + 1000 * random.uniform());
    }
  }
  return gpu;
}

constexpr int random_cases = 500;

TEST(GpuKernelCostOfRandomCards, is_never_more_with_more_bandwidth) {
  core::Random random(43);
  for (int i = 0; i < random_cases; ++i) {
    const auto slow = random_card(random);
    auto fast = slow;
    fast.memory_bandwidth_gb_per_s.value *= 1 + random.uniform();
    const Operation operation = random_operation(random);
    ASSERT_LE(GpuKernelCost(fast).time_of(operation), GpuKernelCost(slow).time_of(operation))
        << "case " << i;
  }
}

TEST(GpuKernelCostOfRandomCards, is_never_more_where_all_types_are_faster) {
  core::Random random(44);
  for (int i = 0; i < random_cases; ++i) {
    const auto slow = random_card(random);
    auto fast = slow;
    const double factor = 1 + random.uniform();
    for (const DataType type : drawn_types) {
      auto& peak = fast.dense_peak_tflop_per_s[type];
      if (peak) peak->value *= factor;
    }
    const Operation operation = random_operation(random);
    ASSERT_LE(GpuKernelCost(fast).time_of(operation), GpuKernelCost(slow).time_of(operation))
        << "case " << i;
  }
}

}  // namespace
}  // namespace paceline::sim
