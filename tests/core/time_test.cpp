#include "core/time.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "tests/core/faults_of.hpp"

namespace paceline::core {
namespace {

using testing::HasSubstr;

TEST(Time, seconds_round_up_to_the_next_picosecond) {
  EXPECT_EQ(Time::from_seconds(1.0e-12).ps(), 1);
  EXPECT_EQ(Time::from_seconds(1.25e-12).ps(), 2);
  EXPECT_EQ(Time::from_seconds(1.999e-12).ps(), 2);
  EXPECT_EQ(Time::from_seconds(2.0e-12).ps(), 2);
}

TEST(Time, no_positive_duration_becomes_zero) {
  EXPECT_EQ(Time::from_seconds(1e-30).ps(), 1);
  EXPECT_EQ(Time::from_seconds(std::numeric_limits<double>::denorm_min()).ps(), 1);
}

TEST(Time, zero_stays_zero) {
  EXPECT_EQ(Time::from_seconds(0.0).ps(), 0);
  EXPECT_EQ(Time::from_seconds(-0.0).ps(), 0);
  EXPECT_EQ(Time{}.ps(), 0);
}

// A decimal fraction has no exact double: 1015e-6 s × 1e12 is 1015000000.0000001. Rounding that up
// would add a picosecond that is not there.
TEST(Time, whole_microseconds_stay_whole) {
  EXPECT_EQ(Time::from_us(1015).ps(), 1'015'000'000);
  for (std::int64_t us = 0; us <= 200'000; ++us) {
    ASSERT_EQ(Time::from_us(static_cast<double>(us)).ps(), us * 1'000'000) << us << " us";
  }
}

TEST(Time, picoseconds_survive_the_way_to_microseconds_and_seconds_and_back) {
  for (std::int64_t ps = 1; ps < 4'000'000'000'000; ps = ps * 3 + 977) {
    ASSERT_EQ(Time::from_us(Time::from_ps(ps).us()).ps(), ps);
    ASSERT_EQ(Time::from_seconds(Time::from_ps(ps).seconds()).ps(), ps);
  }
}

// Half a picosecond is 5e-4 of a nanosecond, far beyond the rounding of doubles: it rounds up.
TEST(Time, a_real_part_of_a_picosecond_is_not_taken_for_rounding) {
  EXPECT_EQ(Time::from_seconds(1000.5e-12).ps(), 1001);
  EXPECT_EQ(Time::from_us(1.0000005).ps(), 1'000'001);
}

// 100 days × 86,400 s × 1e12 = 8.64e18 ps.
TEST(Time, ends_at_100_days) {
  EXPECT_EQ(time_limit.ps(), 8'640'000'000'000'000'000);
  EXPECT_EQ(Time::from_seconds(100.0 * 86'400.0), time_limit);
}

TEST(Time, one_picosecond_decides_an_order) {
  const Time before = Time::from_ps(time_limit.ps() - 1);
  EXPECT_LT(before, time_limit);
  EXPECT_EQ(before + Time::from_ps(1), time_limit);
  EXPECT_GT(Time::from_ps(1), Time{});
  EXPECT_LT(Time{} - Time::from_ps(1), Time{});
}

TEST(Time, adds_subtracts_and_multiplies_exactly) {
  Time time = Time::from_ps(7) * 3;
  EXPECT_EQ(time.ps(), 21);
  time += Time::from_ps(9);
  time -= Time::from_ps(1);
  EXPECT_EQ(time, Time::from_ps(29));
  EXPECT_EQ(2 * time, Time::from_ps(58));
}

TEST(Time, refuses_what_is_no_time) {
  const auto refusal = [](double seconds) {
    return test::message_of<InvariantError>([=] { return Time::from_seconds(seconds); });
  };
  const char* limits = "is not between 0 and 100 days";
  EXPECT_THAT(refusal(-1e-12), HasSubstr(limits));
  EXPECT_THAT(refusal(std::numeric_limits<double>::quiet_NaN()), HasSubstr(limits));
  EXPECT_THAT(refusal(std::numeric_limits<double>::infinity()), HasSubstr(limits));
  EXPECT_THAT(refusal(std::nextafter(8'640'000.0, 1e9)), HasSubstr(limits));
}

}  // namespace
}  // namespace paceline::core
