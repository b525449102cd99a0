#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "models/schedules/ring.hpp"

namespace paceline::models {
namespace {

using Buffer = std::vector<std::int64_t>;
using Schedule = std::vector<ScheduleStep>;

std::vector<Schedule> schedules_of_all(int size, std::int64_t elements) {
  std::vector<Schedule> schedules;
  for (int position = 0; position < size; ++position) {
    schedules.push_back(ring_all_reduce(position, size, elements));
  }
  return schedules;
}

/// Different in every member and element, so that no wrong sum comes out right by chance.
Buffer start_of(int member, std::int64_t elements) {
  Buffer buffer;
  for (std::int64_t i = 0; i < elements; ++i) {
    buffer.push_back((INT64_C(1) << (4 * member)) * (i % 7 + 1) + i * i);
  }
  return buffer;
}

/// Runs `step` on all members at once: everything is sent before anything is received.
void run_step(std::vector<Buffer>& buffers, const std::vector<Schedule>& schedules,
              std::size_t step) {
  const std::vector<Buffer> sent = buffers;
  for (std::size_t member = 0; member < buffers.size(); ++member) {
    const ScheduleStep& mine = schedules[member][step];
    const auto sender = static_cast<std::size_t>(mine.receive_from);
    const ScheduleStep& theirs = schedules.at(sender).at(step);
    ASSERT_EQ(theirs.send_to, static_cast<int>(member));
    ASSERT_EQ(theirs.send_elements, mine.receive_elements);
    ASSERT_EQ(theirs.send_offset, mine.receive_offset);
    for (std::int64_t i = 0; i < mine.receive_elements; ++i) {
      const auto at = static_cast<std::size_t>(mine.receive_offset + i);
      std::int64_t& own = buffers[member].at(at);
      own = (mine.received == ScheduleStep::Received::reduced ? own : 0) + sent[sender].at(at);
    }
  }
}

/// Sizes 1 to 9 and element counts 0 to 50: slices that are equal, unequal and empty.
template <class Property>
void for_each_ring(Property property) {
  for (int size = 1; size <= 9; ++size) {
    for (std::int64_t elements = 0; elements <= 50; ++elements) {
      SCOPED_TRACE(testing::Message() << size << " members, " << elements << " elements");
      property(size, elements);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Ring, leaves_the_sum_in_every_member) {
  for_each_ring([](int size, std::int64_t elements) {
    std::vector<Buffer> buffers;
    Buffer sum(static_cast<std::size_t>(elements), 0);
    for (int member = 0; member < size; ++member) {
      buffers.push_back(start_of(member, elements));
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += buffers.back()[i];
    }
    const auto schedules = schedules_of_all(size, elements);
    for (std::size_t step = 0; step < schedules[0].size(); ++step) {
      run_step(buffers, schedules, step);
      if (testing::Test::HasFatalFailure()) return;
    }
    for (const Buffer& buffer : buffers) ASSERT_EQ(buffer, sum);
  });
}

TEST(Ring, takes_twice_as_many_steps_as_there_are_other_members) {
  for_each_ring([](int size, std::int64_t elements) {
    for (const Schedule& schedule : schedules_of_all(size, elements)) {
      ASSERT_EQ(schedule.size(), static_cast<std::size_t>(2 * (size - 1)));
    }
  });
}

// In the first half each member sends all slices but one; the slices of one step cover everything.
TEST(Ring, slices_of_a_step_cover_every_element_once) {
  for_each_ring([](int size, std::int64_t elements) {
    const auto schedules = schedules_of_all(size, elements);
    for (std::size_t step = 0; step < schedules[0].size(); ++step) {
      std::vector<int> covered(static_cast<std::size_t>(elements), 0);
      for (const Schedule& schedule : schedules) {
        const ScheduleStep& s = schedule[step];
        for (std::int64_t i = 0; i < s.send_elements; ++i) {
          ++covered.at(static_cast<std::size_t>(s.send_offset + i));
        }
      }
      ASSERT_THAT(covered, testing::Each(1));
    }
  });
}

// Σ over members of one half of the steps: each of (size - 1) steps moves every element once.
TEST(Ring, members_send_together_what_they_receive_together) {
  for_each_ring([](int size, std::int64_t elements) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const Schedule& schedule : schedules_of_all(size, elements)) {
      for (const ScheduleStep& step : schedule) {
        sent += step.send_elements;
        received += step.receive_elements;
      }
    }
    ASSERT_EQ(sent, received);
    ASSERT_EQ(sent, 2 * (size - 1) * elements);
  });
}

TEST(Ring, talks_only_to_the_neighbours) {
  for_each_ring([](int size, std::int64_t elements) {
    for (int position = 0; position < size; ++position) {
      for (const ScheduleStep& step : ring_all_reduce(position, size, elements)) {
        ASSERT_EQ(step.send_to, (position + 1) % size);
        ASSERT_EQ(step.receive_from, (position + size - 1) % size);
      }
    }
  });
}

TEST(Ring, reduces_in_the_first_half_and_copies_in_the_second) {
  for_each_ring([](int size, std::int64_t elements) {
    const Schedule schedule = ring_all_reduce(0, size, elements);
    for (std::size_t step = 0; step < schedule.size(); ++step) {
      const bool first_half = step < schedule.size() / 2;
      ASSERT_EQ(schedule[step].received == ScheduleStep::Received::reduced, first_half);
    }
  });
}

// Slices differ by at most one element, so the largest is elements / size rounded up.
TEST(Ring, slices_are_as_equal_as_they_can_be) {
  for_each_ring([](int size, std::int64_t elements) {
    const std::int64_t rounded_up = (elements + size - 1) / size;
    ASSERT_EQ(ring_slice_elements(size, elements), rounded_up);
    for (const ScheduleStep& step : ring_all_reduce(0, size, elements)) {
      ASSERT_LE(step.receive_elements, rounded_up);
      ASSERT_GE(step.send_elements, elements / size);
    }
  });
}

// elements · slice would overflow 64 bits: 2^61 · 8.
TEST(Ring, holds_for_more_elements_than_a_product_could_count) {
  constexpr std::int64_t elements = (INT64_C(1) << 61) + 5;
  constexpr int size = 9;
  std::int64_t sent = 0;
  const Schedule schedule = ring_all_reduce(0, size, elements);
  for (std::size_t step = 0; step < schedule.size() / 2; ++step) {
    ASSERT_GE(schedule[step].send_elements, elements / size);
    ASSERT_LE(schedule[step].send_elements, elements / size + 1);
    sent += schedule[step].send_elements;
  }
  EXPECT_LT(sent, elements);
  EXPECT_LE(elements - sent, elements / size + 1);  // all slices but one
}

TEST(Ring, refuses_a_position_outside) {
  EXPECT_THROW(static_cast<void>(ring_all_reduce(3, 3, 1)), core::InvariantError);
  EXPECT_THROW(static_cast<void>(ring_all_reduce(-1, 3, 1)), core::InvariantError);
  EXPECT_THROW(static_cast<void>(ring_all_reduce(0, 0, 1)), core::InvariantError);
  EXPECT_THROW(static_cast<void>(ring_all_reduce(0, 1, -1)), core::InvariantError);
}

}  // namespace
}  // namespace paceline::models
