#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "hand_made.hpp"
#include "sim/collectives/exchange_cost.hpp"
#include "sim/compute/kernel_cost.hpp"

namespace paceline::sim {
namespace {

using core::Bytes;
using hardware_profiles::ExchangePoint;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

models::Operation product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.kind = core::OperationKind::matmul,
          .phase = core::Phase::forward,
          .role = "product",
          .shape = models::MatmulShape{.m = m, .n = n, .k = k, .b = models::Transpose::yes}};
}

hardware_profiles::CpuDevice device_with_products() {
  hardware_profiles::CpuDevice device = testing::device_of_calls("cpu", 1, {});
  device.levels.front().kernels["matmul_nt"] = {
      .us_per_feature = {{"call", 1.5}, {"mnk", 0.25}, {"mn", 0.5}, {"mk", 0.0}, {"kn", 1e-7}},
      .residual = 0,
      .rows = 5};
  return device;
}

// 1.5 + 0.25·(2·3·4) + 0.5·(2·3) + 0·(2·4) + 1e-7·(4·3) us
// = 1.5 + 6 + 3 + 0.0000012 us = 10,500,001.2 ps, rounded up.
TEST(KernelCost, time_is_the_sum_of_coefficients_times_features_rounded_up) {
  const auto device = device_with_products();
  KernelCost cost(device, device.levels.front(), "file", "/place");
  EXPECT_EQ(cost.time_of(product(2, 3, 4)).ps(), 10'500'002);
}

TEST(KernelCost, a_reduction_costs_a_call_and_its_bytes) {
  auto device = device_with_products();
  device.reduction_us_per_call = 2;
  device.reduction_us_per_byte = 0.5;
  const KernelCost cost(device, device.levels.front(), "file", "/place");
  EXPECT_EQ(cost.reduction(Bytes(10)).ps(), 7'000'000);
}

TEST(KernelCost, everything_missing_is_named_at_once) {
  auto device = device_with_products();
  device.levels.front().kernels["matmul_nt"].us_per_feature.erase("mnk");
  KernelCost cost(device, device.levels.front(), "lab.json", "/levels/0");
  static_cast<void>(cost.time_of(product(2, 3, 4)));
  static_cast<void>(cost.time_of(product(2, 3, 5)));
  models::Operation add{.kind = core::OperationKind::add, .role = "sum"};
  static_cast<void>(cost.time_of(add));
  FaultSet faults;
  cost.report_missing(faults);
  EXPECT_THAT(
      [&] { faults.throw_if_any(); },
      ThrowsMessage<core::ConfigError>(AllOf(
          HasSubstr("lab.json#/levels/0: no class \"add\" (needed by data.sum; measure it with "
                    "paceline-rt calibrate"),
          HasSubstr("no feature \"mnk\" of class \"matmul_nt\" (needed by forward.product and 1 "
                    "more"))));
}

TEST(KernelCost, a_time_beyond_a_hundred_days_is_refused) {
  auto device = device_with_products();
  device.levels.front().kernels["matmul_nt"].us_per_feature["call"] = 1e20;
  KernelCost cost(device, device.levels.front(), "file", "/place");
  EXPECT_THAT(
      [&] { static_cast<void>(cost.time_of(product(1, 1, 1))); },
      ThrowsMessage<core::RunError>(AllOf(HasSubstr("forward.product"), HasSubstr("100 days"))));
}

const std::vector<ExchangePoint> table{
    {Bytes(1000), 10}, {Bytes(100'000), 100}, {Bytes(200'000), 150}};
constexpr core::ByteRate any_rate{1e9};

TEST(ExchangeTable, its_points_come_back_exactly) {
  for (const ExchangePoint& point : table) {
    EXPECT_EQ(interpolated_us(table, point.bytes, any_rate), point.time_us);
  }
}

// Half way from 1000 to 100,000 in the logarithm is 10,000, and from 10 to 100 us √(10·100).
TEST(ExchangeTable, between_points_it_is_linear_in_logarithms) {
  EXPECT_NEAR(interpolated_us(table, Bytes(10'000), any_rate), std::sqrt(1000.0), 1e-9);
}

// The last two points rise by 50 us in 100,000 bytes: 100,000 bytes more take 50 us more.
TEST(ExchangeTable, beyond_the_largest_it_goes_on_with_the_last_slope) {
  EXPECT_NEAR(interpolated_us(table, Bytes(300'000), any_rate), 200.0, 1e-9);
}

TEST(ExchangeTable, below_the_smallest_it_stays) {
  EXPECT_EQ(interpolated_us(table, Bytes(0), any_rate), 10.0);
  EXPECT_EQ(interpolated_us(table, Bytes(999), any_rate), 10.0);
}

// One point has no slope: 1000 bytes more at 100 bytes/us take 10 us more.
TEST(ExchangeTable, beyond_a_single_point_it_goes_on_at_the_bandwidth) {
  EXPECT_NEAR(interpolated_us({{Bytes(1000), 5}}, Bytes(2000), core::ByteRate(1e8)), 15.0, 1e-9);
}

TEST(ExchangeTable, a_falling_end_is_taken_as_flat) {
  EXPECT_EQ(interpolated_us({{Bytes(10), 5}, {Bytes(20), 4}}, Bytes(100), any_rate), 4.0);
}

TEST(ExchangeCost, one_link_with_a_table_goes_by_the_table) {
  const auto cluster =
      testing::meshed_cluster(2, {testing::device_of_calls("cpu", 2, {})}, 7, 1, table);
  ExchangeCost cost(cluster);
  EXPECT_EQ(cost.time_of(0, 1, Bytes(1000)).ps(), 10'000'000);
}

// Two links of 3 us and 2000 bytes/us on the way: 2·3 + 4000/2000 us.
TEST(ExchangeCost, a_way_of_links_adds_latencies_and_divides_by_the_least_bandwidth) {
  auto cluster = testing::star_cluster(2, {testing::device_of_calls("cpu", 2, {})}, 3, 8000);
  cluster.links.front().bandwidth = core::ByteRate(2e9);
  ExchangeCost cost(cluster);
  EXPECT_EQ(cost.time_of(0, 1, Bytes(4000)).ps(), 8'000'000);
  EXPECT_EQ(cost.time_of(1, 0, Bytes(4000)).ps(), 8'000'000);
}

TEST(ExchangeCost, a_link_that_would_take_for_ever_is_refused) {
  auto cluster = testing::star_cluster(2, {testing::device_of_calls("cpu", 2, {})}, 3, 1);
  cluster.links.front().bandwidth = core::ByteRate(1e-9);
  ExchangeCost cost(cluster);
  EXPECT_THAT([&] { static_cast<void>(cost.time_of(0, 1, Bytes(4000))); },
              ThrowsMessage<core::RunError>(HasSubstr("100 days")));
}

}  // namespace
}  // namespace paceline::sim
