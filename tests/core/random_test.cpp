#include "core/random.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace paceline::core {
namespace {

/// The C++ standard ([rand.predef]) gives the 10,000th value of mt19937_64 seeded with 5489.
constexpr std::uint64_t standard_seed = 5489;
constexpr std::uint64_t value_10000 = UINT64_C(9981545732273789042);

Random after_9999_values() {
  Random random(standard_seed);
  for (int i = 0; i < 9'999; ++i) static_cast<void>(random.next());
  return random;
}

TEST(Random, is_the_mersenne_twister_of_the_standard) {
  EXPECT_EQ(after_9999_values().next(), value_10000);
}

TEST(Random, uniform_takes_the_upper_53_bits) {
  EXPECT_EQ(after_9999_values().uniform(), static_cast<double>(value_10000 >> 11) * 0x1p-53);
}

// 2^64 mod 1000 = 616 values at the bottom are rejected; this one lies above: 9981545732273789042
// mod 1000 = 42.
TEST(Random, below_takes_the_remainder) { EXPECT_EQ(after_9999_values().below(1'000), 42U); }

TEST(Random, the_same_seed_gives_the_same_sequence) {
  Random a(7);
  Random b(7);
  Random other(8);
  int equal_to_other = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.next();
    ASSERT_EQ(value, b.next());
    equal_to_other += value == other.next() ? 1 : 0;
  }
  EXPECT_EQ(equal_to_other, 0);
}

// The mean of n uniform values has standard deviation 1/√(12 n); five of them are allowed.
TEST(Random, uniform_covers_zero_to_one_evenly) {
  Random random(1);
  constexpr int draws = 100'000;
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
  }
  EXPECT_NEAR(sum / draws, 0.5, 5.0 / std::sqrt(12.0 * draws));
}

// A count of n draws with probability p has standard deviation √(n p (1-p)); five are allowed.
double allowed_count_error(double draws, double p) {
  return 5.0 * std::sqrt(draws * p * (1.0 - p));
}

TEST(Random, below_gives_each_value_equally_often) {
  Random random(2);
  std::array<int, 6> counts{};
  for (int i = 0; i < 60'000; ++i) ++counts.at(random.below(6));
  for (const int count : counts) EXPECT_NEAR(count, 10'000, allowed_count_error(60'000, 1.0 / 6));
}

// 2^64 mod 3·2^62 = 2^62: a bare remainder would give the lowest third half of all values.
TEST(Random, below_has_no_bias_where_a_bare_remainder_would_be_far_off) {
  constexpr std::uint64_t third = UINT64_C(1) << 62;
  Random random(3);
  std::array<int, 3> counts{};
  for (int i = 0; i < 30'000; ++i) ++counts.at(random.below(3 * third) / third);
  for (const int count : counts) EXPECT_NEAR(count, 10'000, allowed_count_error(30'000, 1.0 / 3));
}

TEST(Random, below_one_is_zero) {
  Random random(4);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.below(1), 0U);
}

// Box and Muller: of one pair, n1² + n2² = -2 ln(1 - u1) and n2 / n1 = tan(2 π u2). Doubles.
TEST(Random, normal_values_come_in_pairs_from_two_uniform_ones) {
  Random normals(5);
  Random uniforms(5);
  for (int i = 0; i < 100; ++i) {
    const double first = normals.normal();
    const double second = normals.normal();
    const double u1 = uniforms.uniform();
    const double u2 = uniforms.uniform();
    EXPECT_NEAR(first * first + second * second, -2.0 * std::log(1.0 - u1), 1e-12);
    EXPECT_NEAR(std::remainder(std::atan2(second, first) - 2.0 * std::numbers::pi * u2,
                               2.0 * std::numbers::pi),
                0, 1e-12);
  }
}

// Of n values the mean has standard deviation 1/√n and the variance √(2/n); five are allowed.
TEST(Random, normal_values_have_mean_zero_and_variance_one) {
  Random random(6);
  constexpr int draws = 100'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double value = random.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / draws, 0.0, 5.0 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1.0, 5.0 * std::sqrt(2.0 / draws));
}

}  // namespace
}  // namespace paceline::core
