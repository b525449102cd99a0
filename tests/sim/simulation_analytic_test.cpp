#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hand_made.hpp"

namespace paceline::sim {
namespace {

using core::OperationKind;
using core::Stream;
using core::TimelinePhase;
using hardware_profiles::CpuDevice;
using testing::HandMadeProgram;
using testing::Simulated;

constexpr std::int64_t us = 1'000'000;  // ps
constexpr std::int64_t half_us = 500'000;

/// Forward 3 us, backward 5 us, optimizer 2 us, batch 1 us; host issue 0.5 us; a reduction takes
/// 1 us and 0.001 us a byte.
CpuDevice device(int active_ranks, const std::string& id = "cpu", double factor = 1) {
  CpuDevice result = testing::device_of_calls(
      id, active_ranks,
      {{"gelu", 3 * factor}, {"gelu_gradient", 5 * factor}, {"adamw", 2}, {"load_batch", 1}});
  result.host_issue_us = 0.5;
  result.reduction_us_per_call = 1;
  result.reduction_us_per_byte = 0.001;
  return result;
}

// (0.5 + 1) + 2·(0.5 + 3) + (0.5 + 5) + (0.5 + 2) = 16.5 us
TEST(OneRank, a_step_is_the_sum_of_its_operations) {
  const Simulated simulated({HandMadeProgram(0, 1)
                                 .kernel(OperationKind::load_batch, "batch")
                                 .kernel(OperationKind::gelu, "a")
                                 .kernel(OperationKind::gelu, "b")
                                 .kernel(OperationKind::gelu_gradient, "c")
                                 .kernel(OperationKind::adamw, "d")
                                 .build()},
                            testing::meshed_cluster(1, {device(1)}, 1, 1));
  EXPECT_EQ(simulated.step_ps(), 16 * us + half_us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::data_wait), us + half_us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::forward), 7 * us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::backward), 5 * us + half_us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::optimizer), 2 * us + half_us);
  EXPECT_EQ(simulated.result().first_step.ps(), 16 * us + half_us);
  EXPECT_TRUE(simulated.result().periodic);
  EXPECT_EQ(simulated.result().steps, 2u);
}

models::Program backward_then_all_reduce(int rank, int world_size, std::int64_t elements) {
  return HandMadeProgram(rank, world_size)
      .kernel(OperationKind::gelu_gradient, "a")
      .all_reduce(elements, Stream::compute, "reduce")
      .kernel(OperationKind::adamw, "b")
      .build();
}

// 1000 elements in two slices of 2000 bytes. Link: 2 us + 2000 B / 1000 B/us = 4 us an exchange.
// Ring: one reduced step of 4 + 1 + 0.001·2000 = 7 us, one copied step of 4 us: 11 us.
// Step: (0.5 + 5) + 0.5 + 11 + (0.5 + 2) = 19.5 us, of which 11.5 us are communication.
TEST(TwoRanks, a_ring_without_overlap_adds_its_steps) {
  const auto cluster = testing::meshed_cluster(2, {device(2)}, 2, 1000);
  const Simulated simulated(
      {backward_then_all_reduce(0, 2, 1000), backward_then_all_reduce(1, 2, 1000)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 19 * us + half_us);
  for (const std::size_t rank : {0u, 1u}) {
    EXPECT_EQ(simulated.phase_ps(rank, TimelinePhase::exposed_communication), 11 * us + half_us);
    EXPECT_EQ(simulated.phase_ps(rank, TimelinePhase::straggler_wait), 0);
  }
  const CollectiveResult& collective = simulated.result().collectives.at(0);
  EXPECT_EQ((collective.end - collective.last_arrival).ps(), 11 * us);
}

// 4000 elements, slices of B/n = 4000 bytes, two links of 1 us and 2000 B/us on the way:
// exchange 2·1 + 4000/2000 = 4 us; reduction 1 + 0.001·4000 = 5 us.
// Closed form: 2(n−1)·exchange + (n−1)·reduction = 6·4 + 3·5 = 39 us.
TEST(FourRanks, a_ring_of_equal_slices_on_a_star_is_the_closed_form) {
  const auto cluster = testing::star_cluster(4, {device(4)}, 1, 2000);
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 4; ++rank) programs.push_back(backward_then_all_reduce(rank, 4, 4000));
  const Simulated simulated(std::move(programs), cluster);
  const CollectiveResult& collective = simulated.result().collectives.at(0);
  EXPECT_EQ((collective.end - collective.last_arrival).ps(), 39 * us);
  // (0.5 + 5) + 0.5 + 39 + (0.5 + 2)
  EXPECT_EQ(simulated.step_ps(), 47 * us + half_us);
}

// Rank 1 takes 10 us instead of 5 for its backward pass: rank 0 waits 5 us, and then both exchange
// for 11 us as above. Step: (0.5 + 10) + 0.5 + 11 + 2.5 = 24.5 us.
TEST(Straggler, of_two_ranks_the_faster_waits_for_the_difference) {
  const auto cluster =
      testing::meshed_cluster(2, {device(2, "fast"), device(2, "slow", 2)}, 2, 1000);
  const Simulated simulated(
      {backward_then_all_reduce(0, 2, 1000), backward_then_all_reduce(1, 2, 1000)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 24 * us + half_us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::straggler_wait), 5 * us);
  EXPECT_EQ(simulated.phase_ps(1, TimelinePhase::straggler_wait), 0);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::exposed_communication), 11 * us + half_us);
}

// The slow rank of four sits at position 2. Ring steps that the others run before it arrives do not
// shorten its own six: all end 39 us after its arrival, and each of the others has waited 5 us.
TEST(Straggler, of_four_ranks_each_of_the_faster_waits_for_the_difference) {
  const CpuDevice fast = device(4, "fast");
  const auto cluster = testing::star_cluster(
      4, {fast, device(4, "fast2"), device(4, "slow", 2), device(4, "fast3")}, 1, 2000);
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 4; ++rank) programs.push_back(backward_then_all_reduce(rank, 4, 4000));
  const Simulated simulated(std::move(programs), cluster);
  EXPECT_EQ(simulated.step_ps(), 52 * us + half_us);
  for (const std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(simulated.phase_ps(rank, TimelinePhase::straggler_wait), 5 * us) << rank;
  }
  EXPECT_EQ(simulated.phase_ps(2, TimelinePhase::straggler_wait), 0);
}

// The slow rank takes 100 us and the ring steps before its arrival end long before it: rank 3 of
// the fast ones runs none of them, rank 0 one and rank 1 two. All of that is waiting for rank 2.
TEST(Straggler, ring_steps_before_the_last_arrival_are_part_of_the_wait) {
  const auto cluster = testing::star_cluster(
      4, {device(4, "fast"), device(4, "fast1"), device(4, "slow", 20), device(4, "fast3")}, 1,
      2000);
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 4; ++rank) programs.push_back(backward_then_all_reduce(rank, 4, 4000));
  const Simulated simulated(std::move(programs), cluster);
  EXPECT_EQ(simulated.step_ps(), 142 * us + half_us);  // (0.5 + 100) + 0.5 + 39 + 2.5
  for (const std::size_t rank : {0u, 1u, 3u}) {
    EXPECT_EQ(simulated.phase_ps(rank, TimelinePhase::straggler_wait), 95 * us) << rank;
    EXPECT_EQ(simulated.phase_ps(rank, TimelinePhase::exposed_communication), 39 * us + half_us);
  }
}

// Three ranks, slices of 4000 bytes. Rank 1 receives from rank 0 by a link of 4000 B/us: 1 + 1 us,
// and sends to rank 2 by one of 1000 B/us: 1 + 4 us, which is what its ring steps take; so do those
// of rank 2, which receives by it. Rank 0 needs 2 us, and waits for the others.
// Two reduced steps of 5 + 1 + 4 us and two copied ones of 5 us: 30 us on ranks 1 and 2.
TEST(ThreeRanks, a_ring_step_takes_as_long_as_the_slower_of_its_two_links) {
  auto cluster = testing::meshed_cluster(3, {device(3)}, 1, 4000);
  const hardware_profiles::VertexId one(1);
  const hardware_profiles::VertexId two(2);
  for (auto& link : cluster.links) {
    if (link.a == one && link.b == two) link.bandwidth = core::ByteRate(1e9);
  }
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 3; ++rank) programs.push_back(backward_then_all_reduce(rank, 3, 3000));
  const Simulated simulated(std::move(programs), cluster);
  const CollectiveResult& collective = simulated.result().collectives.at(0);
  EXPECT_EQ((collective.left[1] - collective.arrived[1]).ps(), 30 * us);
  EXPECT_EQ((collective.left[2] - collective.arrived[2]).ps(), 30 * us);
}

models::Program overlapped(int rank, std::int64_t elements) {
  return HandMadeProgram(rank, 2)
      .kernel(OperationKind::gelu_gradient, "a")
      .all_reduce(elements, Stream::communication, "reduce")
      .kernel(OperationKind::gelu_gradient, "b")
      .kernel(OperationKind::gelu_gradient, "c")
      .after_last_all_reduce()
      .kernel(OperationKind::adamw, "d")
      .build();
}

// Equal ranks never wait. a 0–5.5, issued at 5.5; b –11, poll: step 0 (7 us) –18; c –23.5, poll:
// step 1 (4 us) –27.5; d –30. The core does the communication, so nothing is gained or lost but the
// host issue of a collective on the compute stream: 30.5 us without overlap.
TEST(Overlap, equal_ranks_advance_one_ring_step_after_each_operation) {
  const auto cluster = testing::meshed_cluster(2, {device(2)}, 2, 1000);
  const Simulated simulated({overlapped(0, 1000), overlapped(1, 1000)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 30 * us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::exposed_communication), 11 * us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::backward), 16 * us + half_us);
  const CollectiveResult& collective = simulated.result().collectives.at(0);
  EXPECT_EQ((collective.end - collective.last_arrival).ps(), 22 * us);  // 5.5 to 27.5
}

// Rank 1's kernels of the backward pass take 10 us: a 0–10.5. Rank 0 polls at 11 (after b), when
// rank 1 has posted: step 0 11–18, c 18–23.5, poll: rank 1 posts its step 1 only when it has ended
// its step 0, after its b: b 10.5–21, step 0 21–28. So rank 0 finds nothing, and d needs the
// all-reduce: rank 0 waits 23.5–28, step 1 28–32, d 32–34.5.
// Rank 1: c 28–38.5, poll: rank 0 posted step 1 at 18; step 1 38.5–42.5, d –45. Its period is 45.
// Rank 0 is 10.5 us ahead at the end of the first step, and in the steady state it waits more; the
// period stays that of rank 1, which never waits.
TEST(Overlap, the_slower_rank_never_waits_and_sets_the_period) {
  const auto cluster =
      testing::meshed_cluster(2, {device(2, "fast"), device(2, "slow", 2)}, 2, 1000);
  const Simulated simulated({overlapped(0, 1000), overlapped(1, 1000)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 45 * us);
  EXPECT_EQ(simulated.phase_ps(1, TimelinePhase::straggler_wait), 0);
  EXPECT_EQ(simulated.phase_ps(1, TimelinePhase::exposed_communication), 11 * us);
  EXPECT_TRUE(simulated.result().periodic);
}

// Rank 0: a 0–5.5, b –11, poll at 11. Rank 1, without host issue: e 0–9, f –11, then g, which takes
// no time: it arrives at 11 too, by an event that was scheduled after the poll. The poll sees it:
// ring step 0 11–18 on both, and rank 1 goes on at once: step 1 –22, h –31, which ends the step
// (rank 0: c –23.5, step 1 –27.5, d –30). Had rank 0 seen nothing, h would end at 36.5.
TEST(Overlap, a_poll_sees_what_is_posted_at_the_same_instant) {
  CpuDevice other =
      testing::device_of_calls("other", 2, {{"gelu", 9}, {"load_batch", 2}, {"adamw", 0}});
  other.reduction_us_per_call = 1;
  other.reduction_us_per_byte = 0.001;
  const auto cluster = testing::meshed_cluster(2, {device(2), other}, 2, 1000);
  const models::Program late = HandMadeProgram(1, 2)
                                   .kernel(OperationKind::gelu, "e")
                                   .kernel(OperationKind::load_batch, "f")
                                   .kernel(OperationKind::adamw, "g")
                                   .all_reduce(1000, Stream::communication, "reduce")
                                   .after_last_all_reduce()
                                   .kernel(OperationKind::gelu, "h")
                                   .build();
  const Simulated simulated({overlapped(0, 1000), late}, cluster);
  EXPECT_EQ(simulated.result().first_step.ps(), 31 * us);
}

// Rank 2 arrives at 30.5. Rank 1 polls at 11, when rank 0 has posted, and runs its first ring step
// then: that takes the core from the backward pass, and is no wait.
TEST(Overlap, a_ring_step_at_a_poll_is_exposed_even_before_the_last_arrival) {
  const auto cluster = testing::meshed_cluster(
      3, {device(3, "fast"), device(3, "fast1"), device(3, "slow", 6)}, 2, 1000);
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 3; ++rank) {
    programs.push_back(HandMadeProgram(rank, 3)
                           .kernel(OperationKind::gelu_gradient, "a")
                           .all_reduce(1500, Stream::communication, "reduce")
                           .kernel(OperationKind::gelu_gradient, "b")
                           .build());
  }
  const Simulated simulated(std::move(programs), cluster, Timeline::Keep::segments);
  const auto& segments = simulated.result().ranks.at(1).segments;
  const auto first = std::find_if(segments.begin(), segments.end(), [](const Segment& segment) {
    return segment.activity == Activity::ring_step;
  });
  ASSERT_NE(first, segments.end());
  EXPECT_LT(first->end, simulated.result().collectives.at(0).last_arrival);
  EXPECT_EQ(first->phase, TimelinePhase::exposed_communication);
  EXPECT_EQ((first->end - first->begin).ps(), 7 * us);  // 2000 bytes, as above
}

// One exchange runs at a time: the second collective, on the compute stream, first ends the first.
// a –5.5; first 7 + 4; host issue 0.5; second 7 + 4.
TEST(Overlap, a_collective_on_the_compute_stream_first_ends_those_issued_before_it) {
  const auto cluster = testing::meshed_cluster(2, {device(2)}, 2, 1000);
  const auto program = [](int rank) {
    return HandMadeProgram(rank, 2)
        .kernel(OperationKind::gelu_gradient, "a")
        .all_reduce(1000, Stream::communication, "first")
        .all_reduce(1000, Stream::compute, "second")
        .build();
  };
  const Simulated simulated({program(0), program(1)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 28 * us);
  const auto& collectives = simulated.result().collectives;
  EXPECT_EQ((collectives.at(1).last_arrival - collectives.at(0).end).ps(), half_us);
}

// A collective that nothing waits for ends before the step does:
// a 0–5.5, issued at 5.5, nothing follows: both run its steps at once, 7 + 4 us.
TEST(Overlap, the_step_ends_when_the_communication_stream_does) {
  const auto cluster = testing::meshed_cluster(2, {device(2)}, 2, 1000);
  const auto program = [](int rank) {
    return HandMadeProgram(rank, 2)
        .kernel(OperationKind::gelu_gradient, "a")
        .all_reduce(1000, Stream::communication, "reduce")
        .build();
  };
  const Simulated simulated({program(0), program(1)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 16 * us + half_us);
}

// The second collective takes part only when the first has ended, both in issue order: a –5.5, then
// d needs the second: 7 + 4 us, 7 + 4 us, d 2.5 us.
TEST(Overlap, collectives_of_the_communication_stream_run_in_order) {
  const auto cluster = testing::meshed_cluster(2, {device(2)}, 2, 1000);
  const auto program = [](int rank) {
    return HandMadeProgram(rank, 2)
        .kernel(OperationKind::gelu_gradient, "a")
        .all_reduce(1000, Stream::communication, "first")
        .all_reduce(1000, Stream::communication, "second")
        .after_last_all_reduce()
        .kernel(OperationKind::adamw, "d")
        .build();
  };
  const Simulated simulated({program(0), program(1)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 30 * us);
  const auto& collectives = simulated.result().collectives;
  EXPECT_EQ(collectives.at(1).last_arrival, collectives.at(0).end);
}

// Found by search. Kernels as in `devices` below; slices of 333, 333 and 334 elements take unequal
// times, and each rank in turn is delayed by the longer one: periods alternate. The means of
// several phases are no whole picoseconds, and still sum to the step.
TEST(Overlap, ranks_that_take_turns_have_no_fixed_period_and_the_step_is_the_mean) {
  const auto unlike = [](const char* id, double forward, double backward, double reduction) {
    CpuDevice result =
        testing::device_of_calls(id, 3, {{"gelu", forward}, {"gelu_gradient", backward}});
    result.reduction_us_per_call = reduction;
    return result;
  };
  const std::vector<CpuDevice> devices{unlike("a", 8, 5, 0), unlike("b", 2, 4, 1),
                                       unlike("c", 9, 3, 0)};
  std::vector<models::Program> programs;
  for (int rank = 0; rank < 3; ++rank) {
    programs.push_back(HandMadeProgram(rank, 3)
                           .kernel(OperationKind::gelu, "f")
                           .all_reduce(1000, Stream::communication, "reduce")
                           .kernel(OperationKind::gelu_gradient, "b")
                           .kernel(OperationKind::gelu, "c")
                           .build());
  }
  const Simulated simulated(std::move(programs), testing::star_cluster(3, devices, 2, 1000));
  const SimulationResult& result = simulated.result();
  EXPECT_FALSE(result.periodic);
  EXPECT_EQ(result.steps, most_steps);
  EXPECT_LT(result.shortest_period, result.step_time);
  EXPECT_LT(result.step_time, result.longest_period);
  for (const RankResult& rank : result.ranks) {
    core::Time sum;
    for (const core::Time phase : rank.phases) sum += phase;
    EXPECT_EQ(sum, result.step_time);
  }
}

// Nothing couples these ranks. Rank 1's step of 10.5 us is the step; rank 0 has 5 us to spare.
TEST(Uncoupled, the_step_is_the_slowest_ranks_and_others_get_the_rest_as_straggler_wait) {
  const auto cluster = testing::meshed_cluster(2, {device(2, "fast"), device(2, "slow", 2)}, 2, 1);
  const auto program = [](int rank) {
    return HandMadeProgram(rank, 2).kernel(OperationKind::gelu_gradient, "a").build();
  };
  const Simulated simulated({program(0), program(1)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 10 * us + half_us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::straggler_wait), 5 * us);
  EXPECT_EQ(simulated.phase_ps(0, TimelinePhase::backward), 5 * us + half_us);
  EXPECT_EQ(simulated.phase_ps(1, TimelinePhase::straggler_wait), 0);
}

TEST(OneMember, a_collective_of_one_rank_takes_its_host_issue_alone) {
  const auto cluster = testing::meshed_cluster(1, {device(1)}, 2, 1);
  const Simulated simulated({backward_then_all_reduce(0, 1, 1000)}, cluster);
  EXPECT_EQ(simulated.step_ps(), 8 * us + half_us);  // 5.5 + 0.5 + 2.5
}

}  // namespace
}  // namespace paceline::sim
