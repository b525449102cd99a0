#include "runtime/measure/clock_alignment.hpp"

#include <gmock/gmock.h>

namespace paceline::runtime {
namespace {

TEST(ClockEstimate, the_others_clock_was_read_in_the_middle_of_the_round_trip) {
  // Sent at 1000, back at 1400, the other read 5000: 5000 − (1000 + 200) = 3800 ns ahead, ± 200 ns.
  const ClockEstimate estimate = estimate_of(1000, 5000, 1400);
  EXPECT_EQ(estimate.at_ns, 5000);
  EXPECT_DOUBLE_EQ(estimate.offset_us, 3.8);
  EXPECT_DOUBLE_EQ(estimate.uncertainty_us, 0.2);
}

TEST(ClockAlignment, rank_0_has_no_offset) {
  const auto single = make_single_communicator();
  const ClockEstimate estimate = ping_pong(*single);
  EXPECT_EQ(estimate.offset_us, 0.0);
  EXPECT_EQ(estimate.uncertainty_us, 0.0);
}

TEST(ClockAlignment, a_drift_is_followed_between_the_two_ping_pongs) {
  // 10 us ahead at 1 ms of the own clock and 14 us at 3 ms: 12 us at 2 ms.
  const ClockEstimate before{.at_ns = 1'000'000, .offset_us = 10, .uncertainty_us = 1};
  const ClockEstimate after{.at_ns = 3'000'000, .offset_us = 14, .uncertainty_us = 2};
  const ClockAlignment clock(before, after, false);
  EXPECT_FALSE(clock.is_one_clock());
  EXPECT_DOUBLE_EQ(clock.on_rank_0_us(1'000'000), 990.0);
  EXPECT_DOUBLE_EQ(clock.on_rank_0_us(2'000'000), 1988.0);
  EXPECT_DOUBLE_EQ(clock.on_rank_0_us(3'000'000), 2986.0);
  EXPECT_DOUBLE_EQ(clock.offset_us(), 12.0);
  EXPECT_DOUBLE_EQ(clock.uncertainty_us(), 2.0);
}

TEST(ClockAlignment, processes_of_a_host_share_a_clock_unless_the_ping_pong_disproves_it) {
  const ClockEstimate near{.at_ns = 0, .offset_us = 0.3, .uncertainty_us = 0.5};
  const ClockEstimate apart{.at_ns = 9, .offset_us = 0.6, .uncertainty_us = 0.5};
  EXPECT_TRUE(ClockAlignment(near, near, true).is_one_clock());
  EXPECT_DOUBLE_EQ(ClockAlignment(near, near, true).on_rank_0_us(2000), 2.0);
  EXPECT_FALSE(ClockAlignment(near, apart, true).is_one_clock());
  EXPECT_FALSE(ClockAlignment(near, near, false).is_one_clock());
}

}  // namespace
}  // namespace paceline::runtime
