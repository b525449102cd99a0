#include "cli/step_bar.hpp"

#include <gtest/gtest.h>

#include "cli/display_text.hpp"

namespace paceline::cli {
namespace {

using core::TimelinePhase;

core::PhaseTimes phases(double forward, double backward, double straggler, double communication,
                        double optimizer) {
  core::PhaseTimes times;
  times[TimelinePhase::forward] = forward;
  times[TimelinePhase::backward] = backward;
  times[TimelinePhase::straggler_wait] = straggler;
  times[TimelinePhase::exposed_communication] = communication;
  times[TimelinePhase::optimizer] = optimizer;
  return times;
}

TEST(StepBar, each_part_is_as_long_as_its_share) {
  // Of 20 cells: 20 %, 40 %, 20 %, 10 %, 10 %.
  EXPECT_EQ(step_bar(phases(2, 4, 2, 1, 1), 20, false), "▒▒▒▒████████····░░▓▓");
}

TEST(StepBar, parts_are_rounded_so_that_they_add_up) {
  // Thirds of 10 are 3.33 each: the cell that is left goes to the first of the largest rests.
  EXPECT_EQ(step_bar(phases(1, 1, 0, 0, 1), 10, false), "▒▒▒▒███▓▓▓");
  for (int cells = 1; cells < 60; ++cells) {
    EXPECT_EQ(display_width(step_bar(phases(1, 3, 0.2, 0.7, 0.01), cells, false)), cells);
  }
}

TEST(StepBar, everything_that_neither_computes_nor_communicates_is_waiting) {
  core::PhaseTimes times;
  for (const auto phase : {TimelinePhase::straggler_wait, TimelinePhase::data_wait,
                           TimelinePhase::host_bound_idle, TimelinePhase::other}) {
    times[phase] = 1.0;
  }
  EXPECT_EQ(part_of(times, BarPart::waiting), 4.0);
  EXPECT_EQ(step_bar(times, 4, false), "····");
}

TEST(StepBar, no_time_has_no_bar) { EXPECT_EQ(step_bar({}, 10, false), ""); }

TEST(StepBar, colours_come_and_go_with_their_part) {
  EXPECT_EQ(step_bar(phases(1, 1, 0, 0, 0), 2, true), "\x1b[36m▒\x1b[0m\x1b[34m█\x1b[0m");
}

}  // namespace
}  // namespace paceline::cli
