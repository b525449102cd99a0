#include "sim/sharing/max_min.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

using testing::ElementsAre;

/// Starts consumers 0, 1, … that take one of everything of each resource named, and settles.
class System {
 public:
  explicit System(std::vector<double> capacities) {
    for (const double capacity : capacities) sharing.add_resource(capacity);
  }
  void start(std::vector<MaxMin::Resource> resources, double bound = MaxMin::unbounded) {
    std::vector<MaxMin::Use> uses;
    for (const auto resource : resources) uses.push_back({resource, 1.0});
    sharing.start(next_++, sharing.add_pattern(uses), bound);
  }
  std::vector<double> rates() {
    sharing.settle();
    std::vector<double> all;
    for (MaxMin::Consumer i = 0; i < next_; ++i) all.push_back(sharing.rate(i));
    return all;
  }
  MaxMin sharing;

 private:
  MaxMin::Consumer next_ = 0;
};

// One flow over two links of 10 and 4: the narrow one decides, without settling.
TEST(MaxMin, a_consumer_alone_has_the_narrowest_of_its_resources_at_once) {
  MaxMin sharing;
  const MaxMin::Use uses[] = {{sharing.add_resource(10), 1.0}, {sharing.add_resource(4), 1.0}};
  EXPECT_EQ(sharing.start(0, sharing.add_pattern(uses)), 4);
  EXPECT_FALSE(sharing.has_changes());
}

// Three flows over one link of 12: 4 each. One leaves: 6 each.
TEST(MaxMin, equal_consumers_share_equally_and_take_what_is_left) {
  System system({12});
  system.start({0});
  system.start({0});
  system.start({0});
  EXPECT_THAT(system.rates(), ElementsAre(4, 4, 4));
  system.sharing.stop(1);
  EXPECT_THAT(system.rates(), ElementsAre(6, 0, 6));
}

// The parking lot: a long flow over links A and B of 10, a short one on A, two short ones on B. B
// is the narrowest: 10/3 each; the short flow on A takes the rest of A, 20/3.
TEST(MaxMin, the_narrowest_link_settles_first_and_the_rest_goes_to_others) {
  System system({10, 10});
  system.start({0, 1});
  system.start({0});
  system.start({1});
  system.start({1});
  const auto rates = system.rates();
  EXPECT_DOUBLE_EQ(rates[0], 10.0 / 3);
  EXPECT_DOUBLE_EQ(rates[1], 20.0 / 3);
  EXPECT_DOUBLE_EQ(rates[2], 10.0 / 3);
  EXPECT_DOUBLE_EQ(rates[3], 10.0 / 3);
}

// Two flows on a link of 10, one of which wants no more than 2: it gets 2, the other 8.
TEST(MaxMin, a_bound_leaves_the_rest_to_the_others) {
  System system({10});
  system.start({0}, 2);
  system.start({0});
  EXPECT_THAT(system.rates(), ElementsAre(2, 8));
}

// Memory of 100 bytes/s: a kernel that moves 3 bytes for each unit of progress and a copy that
// moves
// 1. Equal progress x: 3x + x = 100, x = 25: the kernel takes 75, the copy 25.
TEST(MaxMin, coefficients_weigh_what_a_unit_of_progress_takes) {
  MaxMin sharing;
  const auto memory = sharing.add_resource(100);
  const MaxMin::Use kernel[] = {{memory, 3.0}};
  const MaxMin::Use copy[] = {{memory, 1.0}};
  sharing.start(0, sharing.add_pattern(kernel));
  sharing.start(1, sharing.add_pattern(copy));
  sharing.settle();
  EXPECT_DOUBLE_EQ(sharing.rate(0), 25);
  EXPECT_DOUBLE_EQ(sharing.rate(1), 25);
}

// A communication kernel on 8 of 132 multiprocessors at most, and a matrix product that would take
// all: 8 and 124.
TEST(MaxMin, multiprocessors_are_a_resource_like_any_other) {
  System system({132});
  system.start({0}, 8);
  system.start({0}, 132);
  EXPECT_THAT(system.rates(), ElementsAre(8, 124));
}

// Two pairs on links of their own: a third flow on the first link changes the first pair only.
TEST(MaxMin, only_the_component_that_a_change_touches_is_solved_again) {
  System system({10, 10});
  system.start({0});
  system.start({0});
  system.start({1});
  system.start({1});
  EXPECT_THAT(system.rates(), ElementsAre(5, 5, 5, 5));
  const auto before = system.sharing.solved();
  system.start({0});
  const auto changed = system.sharing.settle();
  EXPECT_THAT(std::vector<MaxMin::Consumer>(changed.begin(), changed.end()), ElementsAre(0, 1, 4));
  EXPECT_EQ(system.sharing.solved() - before, 3);
}

// A cable of 10 with two flows falls to 4: 2 each.
TEST(MaxMin, a_changed_capacity_is_shared_anew) {
  System system({10});
  system.start({0});
  system.start({0});
  EXPECT_THAT(system.rates(), ElementsAre(5, 5));
  system.sharing.set_capacity(0, 4);
  EXPECT_THAT(system.rates(), ElementsAre(2, 2));
}

// A rate that stays is not reported: the flow on the second link is bound by its own 1.
TEST(MaxMin, reports_only_rates_that_changed) {
  System system({10});
  system.start({0}, 1);
  system.start({0});
  EXPECT_THAT(system.rates(), ElementsAre(1, 9));
  system.start({0});
  const auto changed = system.sharing.settle();
  EXPECT_THAT(std::vector<MaxMin::Consumer>(changed.begin(), changed.end()), ElementsAre(1, 2));
}

TEST(MaxMin, refuses_what_has_no_limit_or_makes_no_sense) {
  MaxMin sharing;
  EXPECT_THROW(static_cast<void>(sharing.add_resource(0)), core::InvariantError);
  const MaxMin::Use unknown[] = {{3, 1.0}};
  EXPECT_THROW(static_cast<void>(sharing.add_pattern(unknown)), core::InvariantError);
  const MaxMin::Use negative[] = {{sharing.add_resource(1), -1.0}};
  EXPECT_THROW(static_cast<void>(sharing.add_pattern(negative)), core::InvariantError);
  const auto nothing = sharing.add_pattern({});
  EXPECT_THROW(static_cast<void>(sharing.start(0, nothing)), core::InvariantError);
  EXPECT_THROW(sharing.set_capacity(0, -1), core::InvariantError);
}

}  // namespace
}  // namespace paceline::sim
