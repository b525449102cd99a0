#include "core/rates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "tests/core/faults_of.hpp"

namespace paceline::core {
namespace {

using testing::HasSubstr;

TEST(Rates, a_transfer_takes_bytes_over_rate) {
  // 1 byte / 1e9 B/s = 1 ns.
  EXPECT_EQ(transfer_time(Bytes(1), gb_per_s(1)).ps(), 1'000);
  // 1,250 bytes / (10e9 / 8) B/s = 1 us.
  EXPECT_EQ(transfer_time(Bytes(1'250), gbit_per_s(10)).ps(), 1'000'000);
  // 1,048,576 bytes / 25e9 B/s = 41.94304 us.
  EXPECT_EQ(transfer_time(mib(1), gb_per_s(25)).ps(), 41'943'040);
  EXPECT_EQ(transfer_time(Bytes(0), gb_per_s(1)).ps(), 0);
}

TEST(Rates, a_transfer_rounds_up) {
  // 3 bytes / 7e9 B/s = 428.57… ps.
  EXPECT_EQ(transfer_time(Bytes(3), gb_per_s(7)).ps(), 429);
  // 1 byte / 3e12 B/s = 0.33… ps: never free.
  EXPECT_EQ(transfer_time(Bytes(1), ByteRate(3e12)).ps(), 1);
}

// n bytes at 1 GB/s take n · 1000 ps; 33,000 / 1e9 × 1e12 in doubles is a hair above 33,000,000.
TEST(Rates, an_exact_quotient_gains_no_picosecond) {
  for (std::int64_t bytes = 0; bytes < 200'000; ++bytes) {
    ASSERT_EQ(transfer_time(Bytes(bytes), gb_per_s(1)).ps(), bytes * 1'000);
    // 12.5 GB/s: 80 ps a byte.
    ASSERT_EQ(transfer_time(Bytes(bytes), gbit_per_s(100)).ps(), bytes * 80);
  }
}

TEST(Rates, computation_takes_flops_over_rate) {
  // 2·64·64·64 = 524,288 FLOPs / 1e12 FLOP/s = 524,288 ps.
  EXPECT_EQ(compute_time(Flops(2 * 64 * 64 * 64), gflop_per_s(1'000)).ps(), 524'288);
  // 1 FLOP / 3e9 FLOP/s = 333.3… ps.
  EXPECT_EQ(compute_time(Flops(1), gflop_per_s(3)).ps(), 334);
}

TEST(Rates, a_rate_is_amount_over_time) {
  // 1,000 bytes in 1 us = 1e9 B/s. In doubles the quotient may miss by a unit in the last place.
  EXPECT_DOUBLE_EQ(rate_of(Bytes(1'000), Time::from_ps(1'000'000)).value(), 1e9);
  EXPECT_DOUBLE_EQ(rate_of(Flops(500), Time::from_ps(500)).value(), 1e12);
}

TEST(Rates, a_rate_that_is_not_positive_is_refused_and_never_an_infinite_time) {
  const auto refusal = [](double rate) {
    return test::message_of<InvariantError>(
        [=] { return transfer_time(Bytes(1), ByteRate(rate)); });
  };
  EXPECT_THAT(refusal(0.0), HasSubstr("byte rate is 0.000000 (must be > 0)"));
  EXPECT_THAT(refusal(-2.0), HasSubstr("byte rate is -2.000000 (must be > 0)"));
  EXPECT_THAT(refusal(std::numeric_limits<double>::quiet_NaN()), HasSubstr("(must be > 0)"));
  EXPECT_THAT(test::message_of<InvariantError>([] { return compute_time(Flops(1), FlopRate(0)); }),
              HasSubstr("FLOP rate is 0.000000 (must be > 0)"));
}

TEST(Rates, no_bytes_need_a_rate_too) {
  EXPECT_THROW(static_cast<void>(transfer_time(Bytes(0), ByteRate(0))), InvariantError);
}

TEST(Rates, a_transfer_beyond_100_days_is_refused) {
  // 1e18 bytes at 1 B/s: 1e18 s.
  EXPECT_THAT(test::message_of<InvariantError>(
                  [] { return transfer_time(Bytes(1'000'000'000'000'000'000), ByteRate(1)); }),
              HasSubstr("100 days"));
}

TEST(Rates, a_negative_amount_is_refused) {
  EXPECT_THROW(static_cast<void>(transfer_time(Bytes(-1), gb_per_s(1))), InvariantError);
}

TEST(Rates, a_rate_over_no_time_is_refused) {
  EXPECT_THAT(test::message_of<InvariantError>([] { return rate_of(Bytes(1), Time{}); }),
              HasSubstr("byte rate over 0 ps (the duration must be > 0)"));
  EXPECT_THROW(static_cast<void>(rate_of(Flops(1), Time::from_ps(-1))), InvariantError);
}

}  // namespace
}  // namespace paceline::core
