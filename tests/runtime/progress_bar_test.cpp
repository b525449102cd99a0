#include "runtime/app/progress_bar.hpp"

#include <gmock/gmock.h>

#include <sstream>

namespace paceline::runtime {
namespace {

TEST(ProgressText, shows_bar_counts_rate_and_time_left) {
  // 400 of 1000 in 4 s: 8 of 20 cells, 100 a second, 600 left at that rate take 6 s.
  EXPECT_EQ(progress_text("training", 400, 1000, 4, "steps"),
            "training [########------------]  40 %  400/1000 steps  100.0 steps/s  0:06 left");
}

TEST(ProgressText, says_no_rate_before_anything_is_done) {
  EXPECT_EQ(progress_text("training", 0, 1000, 4, "steps"),
            "training [--------------------]   0 %  0/1000 steps");
}

TEST(ProgressText, without_a_unit_only_share_and_time) {
  EXPECT_EQ(progress_text("products", 25, 50, 25, ""),
            "products [##########----------]  50 %  0:25 left");
}

TEST(ProgressText, long_times_have_hours) {
  // A hundredth in 75 s: 99 · 75 s = 7425 s are left.
  EXPECT_THAT(progress_text("training", 1, 100, 75, ""), testing::EndsWith("  2:03:45 left"));
}

TEST(ProgressBar, leaves_the_line_empty) {
  std::ostringstream out;
  {
    ProgressBar bar(out, "training", "steps");
    bar.show(1, 2);
    bar.show(2, 2);  // within a tenth of a second: not written
  }
  EXPECT_THAT(out.str(), testing::StartsWith("\rtraining [##########----------]  50 %  1/2 steps"));
  EXPECT_THAT(out.str(), testing::Not(testing::HasSubstr("2/2")));
  EXPECT_THAT(out.str(), testing::EndsWith("\r\x1b[K"));
}

}  // namespace
}  // namespace paceline::runtime
