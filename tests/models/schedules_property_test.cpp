#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/error.hpp"
#include "models/schedules/double_tree.hpp"
#include "models/schedules/schedule.hpp"

namespace paceline::models {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;

/// 1 to 17 members; element counts that make slices equal, unequal and empty.
template <class Property>
void for_each_size(Property property) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::int64_t elements : {0, 1, 2, 3, 7, 16, 17, 33, 64, 100}) {
      SCOPED_TRACE(testing::Message() << size << " members, " << elements << " elements");
      property(size, elements);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void expect_right(const Schedule& schedule) {
  const auto fault = schedule_fault(schedule);
  ASSERT_FALSE(fault.has_value()) << *fault;
}

TEST(Schedules, a_ring_does_what_its_kind_says) {
  for (const auto kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for_each_size([&](int size, std::int64_t elements) {
      const auto schedule = make_schedule(kind, CollectiveAlgorithm::ring, size, elements);
      expect_right(schedule);
      // n slices pass n - 1 hops, twice for an all-reduce.
      const int rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
      ASSERT_EQ(sent_elements(schedule), rounds * (size - 1) * elements);
    });
  }
}

TEST(Schedules, the_ring_that_the_runtime_executes_is_this_all_reduce) {
  for (int size = 2; size <= 9; ++size) {
    const auto schedule =
        make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, size, 50);
    for (int member = 0; member < size; ++member) {
      const auto executed = ring_all_reduce(member, size, 50);
      const auto& steps = schedule.members[static_cast<std::size_t>(member)];
      ASSERT_EQ(steps.size(), executed.size());
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(steps[i].send_to, executed[i].send_to);
        EXPECT_EQ(steps[i].send_offset, executed[i].send_offset);
        EXPECT_EQ(steps[i].receive_from, executed[i].receive_from);
        EXPECT_EQ(steps[i].receive_offset, executed[i].receive_offset);
        EXPECT_EQ(steps[i].received, executed[i].received);
      }
    }
  }
}

TEST(Schedules, halving_and_doubling_does_what_its_kind_says_for_any_number_of_members) {
  for (const auto kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for_each_size([&](int size, std::int64_t elements) {
      const auto schedule =
          make_schedule(kind, CollectiveAlgorithm::recursive_halving_doubling, size, elements);
      expect_right(schedule);
      if (!std::has_single_bit(static_cast<unsigned>(size))) return;
      // Halving: in each round the members of a pair send together what both still cover, and all
      // ranges after it together are E for each of n / 2, n / 4, … : Σ n/2^k · E over rounds
      // = (n - 1) E. Doubling is the same backwards.
      const int rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
      ASSERT_EQ(sent_elements(schedule), rounds * (size - 1) * elements);
    });
  }
}

// With r members beyond 2^k, r lend all E elements and get E back; the rest is a power of two.
TEST(Schedules, members_beyond_a_power_of_two_add_their_data_twice) {
  for_each_size([](int size, std::int64_t elements) {
    const auto powers = static_cast<int>(std::bit_floor(static_cast<unsigned>(size)));
    const auto schedule =
        make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::recursive_halving_doubling,
                      size, elements);
    ASSERT_EQ(sent_elements(schedule), 2 * (powers - 1 + size - powers) * elements);
  });
}

TEST(Schedules, a_double_tree_sums_and_broadcasts_in_any_number_of_chunks) {
  for (const int chunks : {1, 2, 5}) {
    for_each_size([&](int size, std::int64_t elements) {
      const auto schedule = make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::tree,
                                          size, elements, {.chunks = chunks});
      expect_right(schedule);
      // Each of n - 1 edges carries half of the data up and down, in both trees.
      ASSERT_EQ(sent_elements(schedule), 2 * (size - 1) * elements);
    });
  }
}

TEST(Schedules, a_broadcast_reaches_all_from_any_root) {
  for (const auto algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree}) {
    for (const int chunks : {1, 4}) {
      for_each_size([&](int size, std::int64_t elements) {
        for (int root = 0; root < size; root += 3) {
          const auto schedule = make_schedule(CollectiveKind::broadcast, algorithm, size, elements,
                                              {.root = root, .chunks = chunks});
          expect_right(schedule);
          ASSERT_EQ(sent_elements(schedule), (size - 1) * elements);
        }
      });
    }
  }
}

TEST(Schedules, a_pairwise_exchange_gives_everybody_his_slice) {
  for_each_size([](int size, std::int64_t each) {
    const auto schedule =
        make_schedule(CollectiveKind::all_to_all, CollectiveAlgorithm::pairwise, size, each * size);
    expect_right(schedule);
    ASSERT_EQ(sent_elements(schedule), size * (size - 1) * each);
  });
}

TEST(Schedules, a_point_to_point_copies) {
  const auto schedule =
      make_schedule(CollectiveKind::point_to_point, CollectiveAlgorithm::pairwise, 2, 9);
  expect_right(schedule);
  EXPECT_EQ(sent_elements(schedule), 9);
}

TEST(Schedules, a_hierarchy_sums_for_every_size_of_group) {
  for_each_size([](int size, std::int64_t elements) {
    for (int group = 1; group <= size; ++group) {
      if (size % group != 0) continue;
      const auto schedule =
          make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::hierarchical, size,
                        elements, {.group = group});
      expect_right(schedule);
      // g groups of m: 2 g (m - 1) E inside, Σ over places of 2 (g - 1) |slice| = 2 (g - 1) E
      // between: 2 (g m - 1) E.
      ASSERT_EQ(sent_elements(schedule), 2 * (size - 1) * elements);
    }
  });
}

// What leaves a group in a hierarchy is 2 (g - 1) / g of the data, however many members it has.
TEST(Schedules, a_hierarchy_sends_little_between_groups) {
  const auto schedule = make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::hierarchical,
                                      12, 120, {.group = 4});
  std::int64_t between = 0;
  for (int member = 0; member < 12; ++member) {
    for (const ScheduleStep& step : schedule.members[static_cast<std::size_t>(member)]) {
      if (step.send_to / 4 != member / 4) between += step.send_elements;
    }
  }
  EXPECT_EQ(between, 2 * (3 - 1) * 120);
}

TEST(DoubleTree, is_two_trees_of_least_height) {
  for (int size = 1; size <= 300; ++size) {
    SCOPED_TRACE(size);
    const int height = std::bit_width(static_cast<unsigned>(size - 1));  // log2 rounded up
    for (const Tree& tree : double_binary_tree(size)) {
      ASSERT_LE(tree.height(), height);
      std::vector<int> reached{tree.root};
      for (std::size_t i = 0; i < reached.size(); ++i) {
        for (const int child : tree.children[static_cast<std::size_t>(reached[i])]) {
          if (child == Tree::none) continue;
          ASSERT_EQ(tree.parent[static_cast<std::size_t>(child)], reached[i]);
          reached.push_back(child);
        }
      }
      std::sort(reached.begin(), reached.end());
      std::vector<int> all(static_cast<std::size_t>(size));
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(reached, all);
    }
  }
}

TEST(DoubleTree, who_has_children_in_one_tree_is_a_leaf_of_the_other) {
  for (int size = 2; size <= 300; ++size) {
    const auto trees = double_binary_tree(size);
    int both = 0;
    for (int member = 0; member < size; ++member) {
      const auto inner = [&](const Tree& tree) {
        const auto& children = tree.children[static_cast<std::size_t>(member)];
        return children[0] != Tree::none || children[1] != Tree::none;
      };
      both += inner(trees[0]) && inner(trees[1]) ? 1 : 0;
    }
    ASSERT_LE(both, size % 2) << size;
  }
}

Schedule two_members() {
  return make_schedule(CollectiveKind::all_reduce, CollectiveAlgorithm::ring, 2, 4);
}

TEST(ScheduleFault, finds_a_copy_in_place_of_a_sum) {
  Schedule schedule = two_members();
  schedule.members[0][0].received = ScheduleStep::Received::copied;
  EXPECT_THAT(schedule_fault(schedule).value_or(""), testing::HasSubstr("a wrong element"));
}

TEST(ScheduleFault, finds_a_receive_that_does_not_match) {
  Schedule schedule = two_members();
  --schedule.members[0][0].receive_elements;
  EXPECT_THAT(schedule_fault(schedule).value_or(""),
              testing::HasSubstr("member 0, step 0 receives 2 elements"));
}

TEST(ScheduleFault, finds_what_nobody_receives) {
  Schedule schedule = two_members();
  ScheduleStep more;
  more.send_to = 1;
  schedule.members[0].push_back(more);
  EXPECT_THAT(schedule_fault(schedule).value_or(""),
              testing::HasSubstr("member 0 sends member 1 what it does not receive"));
}

TEST(ScheduleFault, finds_members_that_wait_for_ever) {
  Schedule schedule = two_members();
  schedule.members[1].clear();
  EXPECT_THAT(schedule_fault(schedule).value_or(""),
              testing::HasSubstr("member 0, step 0 waits for ever for member 1"));
}

TEST(ScheduleFault, finds_steps_outside_the_buffer_and_unknown_steps_to_wait_for) {
  Schedule schedule = two_members();
  schedule.members[0][0].send_offset = 3;
  EXPECT_THAT(schedule_fault(schedule).value_or(""),
              testing::HasSubstr("leaves the buffer or the communicator"));
  schedule = two_members();
  schedule.members[0][0].after = 7;
  EXPECT_THAT(schedule_fault(schedule).value_or(""),
              testing::HasSubstr("waits for step 7, which is not there"));
}

void expect_refusal(CollectiveKind kind, CollectiveAlgorithm algorithm, int size,
                    std::int64_t elements, ScheduleOptions options, const char* why) {
  try {
    static_cast<void>(make_schedule(kind, algorithm, size, elements, options));
    FAIL() << why;
  } catch (const core::InvariantError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
}

TEST(Schedules, refuse_what_they_cannot_do) {
  using enum CollectiveKind;
  using enum CollectiveAlgorithm;
  expect_refusal(all_to_all, ring, 2, 2, {}, "that algorithm does not do that kind");
  expect_refusal(all_gather, tree, 2, 2, {}, "that algorithm does not do that kind");
  expect_refusal(all_reduce, nvls, 2, 2, {}, "that algorithm does not do that kind");
  expect_refusal(all_reduce, ring, 0, 2, {}, "members must be >= 1");
  expect_refusal(all_reduce, ring, 2, -1, {}, "elements >= 0");
  expect_refusal(broadcast, ring, 2, 1, {.root = 2}, "root 2 must be a member");
  expect_refusal(broadcast, ring, 2, 1, {.chunks = 0}, "chunks must be >= 1, got 0");
  expect_refusal(all_reduce, hierarchical, 6, 1, {.group = 4}, "a group of 4 must divide");
  expect_refusal(all_to_all, pairwise, 3, 4, {}, "elements must be a multiple of the members");
  expect_refusal(point_to_point, pairwise, 3, 3, {}, "members must be 2");
  EXPECT_THROW(static_cast<void>(double_binary_tree(0)), core::InvariantError);
}

}  // namespace
}  // namespace paceline::models
