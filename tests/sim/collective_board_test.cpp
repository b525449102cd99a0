#include "sim/simulation/collective_board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

using core::Time;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(CollectiveBoard, instances_of_communicators_steps_and_collectives_are_distinct) {
  const CollectiveBoard board({{.members = 2, .collectives = 3}, {.members = 4, .collectives = 1}},
                              2);
  EXPECT_EQ(board.instance(0, 0, 0), 0u);
  EXPECT_EQ(board.instance(0, 1, 2), 5u);
  EXPECT_EQ(board.instance(1, 0, 0), 6u);
  EXPECT_EQ(board.instance(1, 1, 0), 7u);
}

TEST(CollectiveBoard, the_last_arrival_is_known_when_all_have_arrived) {
  CollectiveBoard board({{.members = 2, .collectives = 1}}, 1);
  board.arrive(0, 1, Time::from_ps(7));
  EXPECT_FALSE(board.last_arrival(0));
  EXPECT_TRUE(board.has_posted(0, 1, 0));
  EXPECT_FALSE(board.has_posted(0, 1, 1));
  EXPECT_FALSE(board.has_posted(0, 0, 0));
  board.arrive(0, 0, Time::from_ps(5));
  EXPECT_EQ(board.last_arrival(0), Time::from_ps(7));
}

TEST(CollectiveBoard, posting_names_the_rank_that_waits_for_just_that_step_and_once) {
  CollectiveBoard board({{.members = 2, .collectives = 1}}, 1);
  board.await(0, 1, 2, 42);
  EXPECT_FALSE(board.arrive(0, 1, Time::from_ps(1)));
  EXPECT_FALSE(board.post_next(0, 1));
  EXPECT_EQ(board.post_next(0, 1), 42u);
  EXPECT_FALSE(board.post_next(0, 1));
}

TEST(CollectiveBoard, a_second_rank_that_waits_for_one_message_is_refused) {
  CollectiveBoard board({{.members = 3, .collectives = 1}}, 1);
  board.await(0, 1, 0, 0);
  EXPECT_THAT([&] { board.await(0, 1, 0, 2); },
              ThrowsMessage<core::InvariantError>(HasSubstr("ranks 0 and 2 wait")));
}

TEST(CollectiveBoard, a_collective_ends_when_its_last_member_leaves) {
  CollectiveBoard board({{.members = 2, .collectives = 1}}, 1);
  board.leave(0, 0, Time::from_ps(9));
  board.leave(0, 1, Time::from_ps(8));
  EXPECT_EQ(board.end(0), Time::from_ps(9));
}

}  // namespace
}  // namespace paceline::sim
