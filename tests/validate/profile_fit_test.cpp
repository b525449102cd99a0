#include "validate/profile_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.hpp"
#include "synthetic_measurements.hpp"

namespace paceline::validate {
namespace {

using core::Measurements;
using hardware_profiles::CpuDevice;
using hardware_profiles::KernelModel;

TEST(ProfileFit, keeps_what_was_measured_of_the_host) {
  const CpuDevice device = fit_cpu_device(synthetic_measurements(), "planted");
  EXPECT_EQ(device.id, "planted");
  EXPECT_EQ(device.name, "Planted CPU");
  EXPECT_EQ(device.threads, 3);
  EXPECT_EQ(device.host_issue_us, 0.25);
  EXPECT_EQ(device.memory_gib, 8.0);  // 8 · 2^30 bytes
  ASSERT_EQ(device.levels.size(), 2U);
  EXPECT_EQ(device.levels[0].active_ranks, 1);
  EXPECT_EQ(device.levels[0].reference_gflop_per_s, 50.0);
  EXPECT_EQ(device.levels[1].active_ranks, 2);
  EXPECT_EQ(device.levels[1].reference_gflop_per_s, 25.0);
}

TEST(ProfileFit, recovers_planted_coefficients_exactly_without_noise) {
  const CpuDevice device = fit_cpu_device(synthetic_measurements(), "planted");
  for (const auto& level : device.levels) {
    const KernelModel& gelu = level.kernels.at("gelu");
    EXPECT_NEAR(gelu.us_per_feature.at("call"), 2.0 * level.active_ranks, 1e-9);
    EXPECT_NEAR(gelu.us_per_feature.at("bytes"), 0.5e-3 * level.active_ranks, 1e-12);
    EXPECT_NEAR(gelu.residual, 0.0, 1e-9);
    EXPECT_EQ(gelu.rows, 8);
  }
  EXPECT_NEAR(device.reduction_us_per_call, 1.0, 1e-9);
  EXPECT_NEAR(device.reduction_us_per_byte, 0.25e-3, 1e-12);
}

TEST(ProfileFit, sorts_levels_by_active_ranks) {
  Measurements measurements = synthetic_measurements();
  std::swap(measurements.levels[0], measurements.levels[1]);
  const CpuDevice device = fit_cpu_device(measurements, "planted");
  EXPECT_EQ(device.levels[0].active_ranks, 1);
  EXPECT_EQ(device.levels[1].active_ranks, 2);
}

/// With relative noise of sigma in 8 rows, 2 coefficients: an estimate of a slope from about four
/// rows that it dominates is off by sigma/2 and the residual's own error is sigma/√12. Three times
/// that: 5 % noise → 8 % and 4.3 %.
TEST(ProfileFit, recovers_planted_coefficients_from_noisy_rows) {
  core::Random random(3);
  const double sigma = 0.05;
  const CpuDevice device = fit_cpu_device(
      synthetic_measurements([&] { return std::exp(sigma * random.normal()); }), "planted");
  for (const auto& level : device.levels) {
    const KernelModel& gelu = level.kernels.at("gelu");
    EXPECT_NEAR(gelu.us_per_feature.at("call") / (2.0 * level.active_ranks), 1.0, 0.08);
    EXPECT_NEAR(gelu.us_per_feature.at("bytes") / (0.5e-3 * level.active_ranks), 1.0, 0.08);
    EXPECT_NEAR(gelu.residual, sigma, 0.043);
  }
}

/// Without the second pass the row of 10 × its time at 16 ms would move the slope: minimising
/// Σ (c·x/t − 1)² over seven rows with c·x/t = c and one with c/10 gives c = (7 + 0.1)/(7 + 0.01) =
/// 1.013, and the constant follows.
TEST(ProfileFit, one_row_that_went_wrong_moves_the_fit_by_less_than_half_a_percent) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[0].kernels.back().time_us *= 10.0;
  const KernelModel gelu = fit_cpu_device(measurements, "planted").levels[0].kernels.at("gelu");
  EXPECT_NEAR(gelu.us_per_feature.at("call") / 2.0, 1.0, 0.005);
  EXPECT_NEAR(gelu.us_per_feature.at("bytes") / 0.5e-3, 1.0, 0.005);
  // The residual keeps it: log(10)/√(8 − 2) = 0.940.
  EXPECT_NEAR(gelu.residual, 0.940, 0.01);
}

TEST(ProfileFit, weighs_small_and_large_kernels_alike) {
  // 2 µs against 8 s: an absolute fit would lose the constant in the noise of the large rows.
  Measurements measurements = synthetic_measurements();
  for (auto& row : measurements.levels[0].kernels) {
    row.time_us *= row.time_us > 1000.0 ? 1.02 : 1.0;
  }
  const KernelModel gelu = fit_cpu_device(measurements, "planted").levels[0].kernels.at("gelu");
  EXPECT_NEAR(gelu.us_per_feature.at("call") / 2.0, 1.0, 0.02);
}

TEST(ProfileFit, no_coefficient_is_negative) {
  Measurements measurements = synthetic_measurements();
  for (auto& row : measurements.levels[0].kernels) {
    // 3 µs + 0.5 ns a byte − 0.1 ns of each byte beyond 1 MiB: a slope that falls.
    const double bytes = row.features.at("bytes");
    const double beyond = std::max(0.0, bytes - 1048576.0);
    row.features["bytes_beyond_1_mib"] = beyond;
    row.time_us = 3.0 + 0.5e-3 * bytes - 0.1e-3 * beyond;
  }
  measurements.levels.pop_back();
  const KernelModel gelu = fit_cpu_device(measurements, "planted").levels[0].kernels.at("gelu");
  EXPECT_EQ(gelu.us_per_feature.at("bytes_beyond_1_mib"), 0.0);
  EXPECT_GT(gelu.us_per_feature.at("bytes"), 0.0);
}

TEST(ProfileFit, a_feature_that_is_zero_in_all_rows_gets_zero_and_needs_no_row) {
  Measurements measurements = synthetic_measurements();
  for (auto& level : measurements.levels) {
    level.kernels.erase(level.kernels.begin() + 2, level.kernels.end());
    for (auto& row : level.kernels) row.features["bytes_beyond_16_mib"] = 0.0;
  }
  const KernelModel gelu = fit_cpu_device(measurements, "planted").levels[0].kernels.at("gelu");
  EXPECT_EQ(gelu.us_per_feature.at("bytes_beyond_16_mib"), 0.0);
  EXPECT_NEAR(gelu.us_per_feature.at("call"), 2.0, 1e-9);
}

TEST(ProfileFit, one_rank_alone_needs_no_reductions) {
  Measurements measurements = synthetic_measurements();
  measurements.levels.pop_back();
  measurements.exchanges.clear();
  measurements.reductions.clear();
  const CpuDevice device = fit_cpu_device(measurements, "planted");
  EXPECT_EQ(device.reduction_us_per_call, 0.0);
  EXPECT_EQ(device.reduction_us_per_byte, 0.0);
}

TEST(ProfileFit, is_the_same_twice) {
  core::Random random(11);
  const Measurements measurements =
      synthetic_measurements([&] { return std::exp(0.1 * random.normal()); });
  const CpuDevice once = fit_cpu_device(measurements, "planted");
  const CpuDevice twice = fit_cpu_device(measurements, "planted");
  EXPECT_EQ(once.levels[0].kernels.at("gelu").us_per_feature,
            twice.levels[0].kernels.at("gelu").us_per_feature);
}

}  // namespace
}  // namespace paceline::validate
