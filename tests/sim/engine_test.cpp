#include "sim/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "sim/engine/event_queue.hpp"

namespace paceline::sim {
namespace {

using core::Time;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<std::uint32_t> targets_in_order(EventQueue& queue) {
  std::vector<std::uint32_t> targets;
  while (!queue.empty()) targets.push_back(queue.pop().target());
  return targets;
}

TEST(EventQueue, same_time_events_run_in_schedule_order) {
  EventQueue queue;
  for (std::uint32_t target = 0; target < 10; ++target) {
    queue.push(Time::from_ps(5), EventPhase::completion, target, 0);
  }
  EXPECT_THAT(targets_in_order(queue), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(EventQueue, phases_order_events_of_one_instant) {
  EventQueue queue;
  queue.push(Time::from_ps(5), EventPhase::poll, 2, 0);
  queue.push(Time::from_ps(5), EventPhase::resumption, 1, 0);
  queue.push(Time::from_ps(5), EventPhase::completion, 0, 0);
  queue.push(Time::from_ps(6), EventPhase::completion, 3, 0);
  EXPECT_THAT(targets_in_order(queue), ElementsAre(0, 1, 2, 3));
}

TEST(EventQueue, an_event_comes_back_as_it_was_pushed) {
  EventQueue queue;
  queue.push(Time::from_ps(7), EventPhase::resumption, 3, 4);
  const Event event = queue.pop();
  EXPECT_EQ(event.time(), Time::from_ps(7));
  EXPECT_EQ(event.phase(), EventPhase::resumption);
  EXPECT_EQ(event.target(), 3u);
  EXPECT_EQ(event.kind(), 4u);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, taking_from_an_empty_queue_is_refused) {
  EventQueue queue;
  EXPECT_THAT([&] { static_cast<void>(queue.pop()); },
              ThrowsMessage<core::InvariantError>(HasSubstr("empty queue")));
}

// Pushes and pops in random order; what comes out must be what a stable sort by (time, phase) of
// everything pushed gives, since no event is pushed into the past of one that was taken.
TEST(EventQueue, property_a_hundred_thousand_random_events_leave_in_order) {
  struct Pushed {
    std::int64_t time;
    EventPhase phase;
    std::uint32_t target;
  };
  core::Random random(7);
  EventQueue queue;
  std::vector<Pushed> pushed;
  std::vector<std::uint32_t> popped;
  std::int64_t now = 0;
  for (std::uint32_t target = 0; target < 100'000; ++target) {
    const auto time = now + 1 + static_cast<std::int64_t>(random.below(50));
    const auto phase = static_cast<EventPhase>(random.below(3));
    queue.push(Time::from_ps(time), phase, target, 0);
    pushed.push_back({time, phase, target});
    if (random.below(3) == 0) {
      const Event event = queue.pop();
      now = event.time().ps();
      popped.push_back(event.target());
    }
  }
  const auto rest = targets_in_order(queue);
  popped.insert(popped.end(), rest.begin(), rest.end());
  std::stable_sort(pushed.begin(), pushed.end(), [](const Pushed& a, const Pushed& b) {
    return a.time != b.time ? a.time < b.time : a.phase < b.phase;
  });
  ASSERT_EQ(popped.size(), pushed.size());
  for (std::size_t i = 0; i < pushed.size(); ++i) ASSERT_EQ(popped[i], pushed[i].target) << i;
}

TEST(Engine, time_is_that_of_the_event_that_runs) {
  Engine engine(4);
  engine.schedule(Time::from_ps(3), EventPhase::completion, 0, 0);
  std::vector<std::int64_t> times;
  engine.run([&](const Event&) {
    times.push_back(engine.now().ps());
    if (times.size() < 3) engine.schedule(Time::from_ps(10), EventPhase::completion, 0, 0);
  });
  EXPECT_THAT(times, ElementsAre(3, 13, 23));
  EXPECT_EQ(engine.events_handled(), 3u);
}

TEST(Engine, stop_leaves_later_events_unhandled) {
  Engine engine(4);
  engine.schedule(Time::from_ps(1), EventPhase::completion, 0, 0);
  engine.schedule(Time::from_ps(2), EventPhase::completion, 0, 0);
  engine.run([&](const Event&) { engine.stop(); });
  EXPECT_EQ(engine.events_handled(), 1u);
}

TEST(Engine, an_event_at_the_time_limit_runs_and_one_beyond_is_refused) {
  Engine engine(4);
  engine.schedule(core::time_limit, EventPhase::completion, 0, 0);
  EXPECT_THAT(
      [&] {
        engine.run(
            [&](const Event&) { engine.schedule(Time::from_ps(1), EventPhase::completion, 0, 0); });
      },
      ThrowsMessage<core::RunError>(HasSubstr("simulated time ends at 100 days")));
  EXPECT_EQ(engine.now(), core::time_limit);
}

TEST(Engine, an_event_in_the_past_is_refused) {
  Engine engine(4);
  EXPECT_THAT([&] { engine.schedule(Time::from_ps(-1), EventPhase::completion, 0, 0); },
              ThrowsMessage<core::InvariantError>(HasSubstr("must not be in the past")));
}

std::uint64_t log_hash_of(std::uint32_t last_kind) {
  Engine engine(4);
  engine.schedule(Time::from_ps(1), EventPhase::completion, 0, 1);
  engine.schedule(Time::from_ps(2), EventPhase::poll, 1, last_kind);
  engine.run([](const Event&) {});
  return engine.event_log_hash();
}

TEST(Engine, equal_event_logs_have_equal_hashes_and_others_do_not) {
  EXPECT_EQ(log_hash_of(2), log_hash_of(2));
  EXPECT_NE(log_hash_of(2), log_hash_of(3));
}

}  // namespace
}  // namespace paceline::sim
