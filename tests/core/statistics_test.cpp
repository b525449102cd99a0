#include "core/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"

namespace paceline::core {
namespace {

// Type 7: position q · (n - 1) in the sorted list, linear between its neighbours.

TEST(Quantile, is_linear_between_neighbours) {
  // 0.25 · 3 = 0.75 between 1 and 2; 0.5 · 3 = 1.5 between 2 and 3.
  EXPECT_EQ(quantile({1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_EQ(quantile({1, 2, 3, 4}, 0.5), 2.5);
}

TEST(Quantile, hits_the_ends_exactly) {
  EXPECT_EQ(quantile({3, 1, 2}, 0.0), 1);
  EXPECT_EQ(quantile({3, 1, 2}, 1.0), 3);
}

// 0.1 · 10 = 1 and 0.9 · 10 = 9: the second and the tenth of eleven.
TEST(Quantile, of_eleven_values_at_10_and_90_percent) {
  const std::vector<double> squares{100, 81, 64, 49, 36, 25, 16, 9, 4, 1, 0};
  EXPECT_EQ(quantile(squares, 0.1), 1);
  EXPECT_EQ(quantile(squares, 0.9), 81);
}

TEST(Quantile, of_one_value_is_that_value) { EXPECT_EQ(quantile({7}, 0.3), 7); }

TEST(Quantile, refuses_no_values_and_shares_outside_0_to_1) {
  EXPECT_THROW(static_cast<void>(quantile({}, 0.5)), InvariantError);
  EXPECT_THROW(static_cast<void>(quantile({1}, -0.1)), InvariantError);
  EXPECT_THROW(static_cast<void>(quantile({1}, 1.1)), InvariantError);
  EXPECT_THROW(static_cast<void>(quantile({1}, std::nan(""))), InvariantError);
}

TEST(Median, is_the_middle_or_the_mean_of_the_two_middle_ones) {
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 7}), 6);
}

TEST(Mean, is_the_sum_over_the_count) {
  EXPECT_EQ(mean({1, 2, 6}), 3);
  EXPECT_THROW(static_cast<void>(mean({})), InvariantError);
}

}  // namespace
}  // namespace paceline::core
