#include "sim/simulation/gpu_steps.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "tests/core/faults_of.hpp"

/// Is a step of GPU ranks exactly what its operations' times add up to? Times in picoseconds.
namespace paceline::sim {
namespace {

using core::Stream;
using core::Time;
using core::TimelinePhase;

/// A list of operations, and the Program that holds their dependencies.
class HandMadeRank {
 public:
  explicit HandMadeRank(int rank = 0) { program_.rank = rank; }

  HandMadeRank& kernel(std::int64_t host_issue, std::int64_t duration,
                       TimelinePhase phase = TimelinePhase::forward) {
    return add({.host_issue = Time::from_ps(host_issue),
                .duration = Time::from_ps(duration),
                .phase = phase});
  }
  HandMadeRank& collective(std::int64_t host_issue, std::int64_t duration,
                           Stream stream = Stream::communication) {
    add({.host_issue = Time::from_ps(host_issue),
         .duration = Time::from_ps(duration),
         .phase = TimelinePhase::exposed_communication,
         .stream = stream,
         .collective = collectives_++});
    if (stream == Stream::communication) {
      last_collective_ = models::OperationId(operations_.size() - 1);
    }
    return *this;
  }
  /// The next kernel waits for the last collective of the communication stream.
  HandMadeRank& wait() {
    waits_ = last_collective_.valid();
    return *this;
  }

  [[nodiscard]] GpuRankClass as_class(std::int64_t represents = 1) {
    return {.program = &program_, .operations = operations_, .represents = represents};
  }

 private:
  HandMadeRank& add(const GpuOperation& operation) {
    program_.operations.push_back(
        {.phase = core::Phase::forward,
         .role = operation.collective == no_gpu_collective ? "kernel" : "collective"});
    if (program_.dependency_offsets.empty()) program_.dependency_offsets.push_back(0);
    if (operation.stream == Stream::communication) {
      // It waits for the kernel before it.
      if (last_compute_.valid()) program_.dependencies.push_back(last_compute_);
    } else {
      if (waits_) program_.dependencies.push_back(last_collective_);
      waits_ = false;
      last_compute_ = models::OperationId(operations_.size());
    }
    program_.dependency_offsets.push_back(static_cast<std::uint32_t>(program_.dependencies.size()));
    operations_.push_back(operation);
    return *this;
  }

  models::Program program_;
  std::vector<GpuOperation> operations_;
  std::uint32_t collectives_ = 0;
  models::OperationId last_collective_, last_compute_;
  bool waits_ = false;
};

GpuSimulationResult simulated(HandMadeRank& rank) {
  const std::vector<GpuRankClass> classes{rank.as_class()};
  return simulate_gpu_steps(classes);
}
GpuSimulationResult simulated(HandMadeRank& first, HandMadeRank& second) {
  const std::vector<GpuRankClass> classes{first.as_class(), second.as_class()};
  return simulate_gpu_steps(classes);
}

std::int64_t phase_ps(const GpuSimulationResult& result, std::size_t rank, TimelinePhase phase) {
  return result.classes.at(rank).phases[phase].ps();
}
std::int64_t sum_ps(const GpuClassResult& result) {
  Time sum;
  for (const Time time : result.phases) sum += time;
  return sum.ps();
}

// Kernels of 10 wait for a host that takes 30 for each: the device works 3 · 10 and is idle for the
// rest of 3 · 30.
TEST(GpuSteps, bound_by_the_host_take_the_sum_of_its_issue_times) {
  HandMadeRank rank;
  rank.kernel(30, 10).kernel(30, 10).kernel(30, 10);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_TRUE(result.periodic);
  EXPECT_EQ(result.step_time.ps(), 90);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::forward), 30);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::host_bound_idle), 60);
  EXPECT_EQ(result.classes[0].host_busy.ps(), 90);
  EXPECT_EQ(result.classes[0].compute_busy.ps(), 30);
}

// The host is ahead from the second kernel on. The first step also waits for the first issue.
TEST(GpuSteps, bound_by_the_device_take_the_sum_of_its_kernels) {
  HandMadeRank rank;
  rank.kernel(10, 30).kernel(10, 30).kernel(10, 30, TimelinePhase::optimizer);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.first_step.ps(), 10 + 90);
  EXPECT_EQ(result.step_time.ps(), 90);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::forward), 60);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::optimizer), 30);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::host_bound_idle), 0);
  EXPECT_EQ(result.shortest_period, result.longest_period);
}

// Step 1 ends at 110; its periods are then equal, which the third and fourth step show.
TEST(GpuSteps, are_repeated_until_two_periods_after_the_first_agree) {
  HandMadeRank rank;
  rank.kernel(10, 100);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_TRUE(result.periodic);
  EXPECT_EQ(result.steps, 3U);
  EXPECT_EQ(result.classes[0].begin.ps(), 10 + 2 * 100);
  EXPECT_EQ(result.classes[0].operations[0].end.ps(), 10 + 3 * 100);
}

// Kernels 0 (1,000,000 long) to 1025, issued in 1 each, the last in 5000. Kernel n ends at
// 1,000,001 + n. Launch 1025 waits until kernel 1 has ended, at 1,000,002, and takes 5000: its
// kernel of 1 is late, since the others end at 1,001,025. Without the queue it would be issued at
// 6025.
TEST(GpuSteps, block_the_host_while_1024_launches_wait) {
  HandMadeRank rank;
  rank.kernel(1, 1'000'000);
  for (int i = 0; i < 1024; ++i) rank.kernel(1, 1);
  rank.kernel(5000, 1);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.first_step.ps(), 1'000'002 + 5000 + 1);
}

// Kernels 0 to 1023: the host never waits, and the last kernel follows the others at once.
TEST(GpuSteps, do_not_block_the_host_while_1023_launches_wait) {
  HandMadeRank rank;
  rank.kernel(1, 1'000'000);
  for (int i = 0; i < 1022; ++i) rank.kernel(1, 1);
  rank.kernel(5000, 1);
  EXPECT_EQ(simulated(rank).first_step.ps(), 1 + 1'000'000 + 1022 + 1);
}

// Steady state, counted from its begin: kernels end at 100, 200, 300; the collective runs from 100
// to 180, beside the second kernel.
TEST(GpuSteps, hide_a_collective_that_ends_before_it_is_waited_for) {
  HandMadeRank rank;
  rank.kernel(1, 100).collective(1, 80).kernel(1, 100).wait().kernel(1, 100);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 300);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 0);
  EXPECT_EQ((result.collectives.at(0).end - result.collectives.at(0).last_arrival).ps(), 80);
}

// The collective runs from 100 to 350, the last kernel waits from 200 to 350.
TEST(GpuSteps, expose_what_a_collective_takes_longer_than_the_kernels_beside_it) {
  HandMadeRank rank;
  rank.kernel(1, 100).collective(1, 250).kernel(1, 100).wait().kernel(1, 100);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 450);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 150);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::straggler_wait), 0);
}

// Collectives share one stream: the first runs from 100 to 200, the second from 200 to 300.
TEST(GpuSteps, run_collectives_one_after_the_other) {
  HandMadeRank rank;
  rank.kernel(1, 100).collective(1, 100).collective(1, 100).wait().kernel(1, 10);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 100 + 200 + 10);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 200);
}

// A step ends when every stream has: 100 of the kernel, 50 of the collective after it.
TEST(GpuSteps, end_when_a_collective_that_nothing_waits_for_does) {
  HandMadeRank rank;
  rank.kernel(1, 100).collective(1, 50);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 150);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 50);
}

// The fast rank is ready at 100, the slow one at 160; the collective then takes 40. The fast rank
// waits 60 for the other and 40 for the collective, the slow one only 40.
TEST(GpuSteps, tell_waiting_for_a_slower_rank_from_exposed_communication) {
  for (const Stream stream : {Stream::communication, Stream::compute}) {
    HandMadeRank fast(0);
    HandMadeRank slow(1);
    fast.kernel(1, 100).collective(1, 40, stream).wait().kernel(1, 10);
    slow.kernel(1, 160).collective(1, 40, stream).wait().kernel(1, 10);
    const GpuSimulationResult result = simulated(fast, slow);
    EXPECT_TRUE(result.periodic);
    EXPECT_EQ(result.step_time.ps(), 160 + 40 + 10);
    EXPECT_EQ(phase_ps(result, 0, TimelinePhase::straggler_wait), 60);
    EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 40);
    EXPECT_EQ(phase_ps(result, 1, TimelinePhase::straggler_wait), 0);
    EXPECT_EQ(phase_ps(result, 1, TimelinePhase::exposed_communication), 40);
  }
}

// On the compute stream nothing overlaps: 100 + 70 + 100.
TEST(GpuSteps, put_a_collective_on_the_compute_stream_between_its_neighbours) {
  HandMadeRank rank;
  rank.kernel(1, 100).collective(1, 70, Stream::compute).kernel(1, 100);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 270);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 70);
}

// Kernel at 100 to 150 of the host's step, collective issued at 300 and ended at 310, kernel at 400
// to 450, next step's at 500: idle are 50 before the first kernel, 150 before and 90 after the
// collective.
TEST(GpuSteps, start_a_collective_no_sooner_than_it_is_issued) {
  HandMadeRank rank;
  rank.kernel(100, 50).collective(200, 10).wait().kernel(100, 50);
  const GpuSimulationResult result = simulated(rank);
  EXPECT_EQ(result.step_time.ps(), 400);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::forward), 100);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::exposed_communication), 10);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::straggler_wait), 0);
  EXPECT_EQ(phase_ps(result, 0, TimelinePhase::host_bound_idle), 50 + 150 + 90);
}

TEST(GpuSteps, name_who_waits_where_ranks_issue_different_collectives) {
  HandMadeRank first(0);
  HandMadeRank second(1);
  first.kernel(1, 10).collective(1, 10).wait().kernel(1, 10);
  second.kernel(1, 10).collective(1, 10).collective(1, 10).wait().kernel(1, 10);
  const auto message = [](HandMadeRank& a, HandMadeRank& b) {
    return test::message_of<core::RunError>([&] { return simulated(a, b); });
  };
  EXPECT_EQ(message(first, second),
            "ranks wait for each other for ever: rank 0 in its end; rank 1 in forward.collective; "
            "their Programs issue different collectives");
  EXPECT_EQ(message(second, first),
            "ranks wait for each other for ever: rank 1 in forward.collective; rank 0 in its end; "
            "their Programs issue different collectives");
}

// ---- random ranks
// --------------------------------------------------------------------------------

/// Kernels and collectives in one order, with costs of the rank's own.
HandMadeRank random_rank(const std::vector<int>& order, const std::vector<std::int64_t>& exchanges,
                         std::int64_t host_scale, core::Random& random) {
  HandMadeRank rank;
  std::size_t next = 0;
  for (const int what : order) {
    const auto host =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(host_scale)));
    if (what == 0) {
      rank.kernel(host, static_cast<std::int64_t>(random.below(1000)));
    } else {
      rank.collective(host, exchanges[next++], what == 1 ? Stream::communication : Stream::compute);
      if (random.below(2) == 0) rank.wait();
    }
  }
  return rank;
}

struct RandomCase {
  std::vector<int> order;
  std::vector<std::int64_t> exchanges;
  std::int64_t host_scale;
};
RandomCase random_case(core::Random& random) {
  RandomCase result;
  result.host_scale = random.below(2) == 0 ? 100 : 3000;
  const std::uint64_t count = 3 + random.below(40);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto what = static_cast<int>(random.below(6));
    result.order.push_back(i == 0 || what > 2 ? 0 : what);
    if (result.order.back() != 0) {
      result.exchanges.push_back(static_cast<std::int64_t>(random.below(3000)));
    }
  }
  return result;
}

bool equal(const GpuClassResult& a, const GpuClassResult& b) {
  for (std::size_t i = 0; i < a.operations.size(); ++i) {
    if (a.operations[i].begin != b.operations[i].begin) return false;
    if (a.operations[i].end != b.operations[i].end) return false;
  }
  return a.phases == b.phases && a.host_busy == b.host_busy &&
         a.operations.size() == b.operations.size();
}

constexpr int random_cases = 300;

TEST(GpuStepsOfRandomRanks, have_phases_that_sum_to_the_step) {
  core::Random random(41);
  for (int i = 0; i < random_cases; ++i) {
    const RandomCase what = random_case(random);
    HandMadeRank first = random_rank(what.order, what.exchanges, what.host_scale, random);
    HandMadeRank second = random_rank(what.order, what.exchanges, what.host_scale, random);
    const GpuSimulationResult result = simulated(first, second);
    ASSERT_TRUE(result.periodic) << "case " << i;
    for (const GpuClassResult& one : result.classes) {
      ASSERT_EQ(sum_ps(one), result.step_time.ps()) << "case " << i;
    }
  }
}

TEST(GpuStepsOfRandomRanks, are_the_same_folded_and_unfolded) {
  core::Random random(42);
  for (int i = 0; i < random_cases; ++i) {
    const RandomCase what = random_case(random);
    HandMadeRank first = random_rank(what.order, what.exchanges, what.host_scale, random);
    HandMadeRank second = random_rank(what.order, what.exchanges, what.host_scale, random);
    const std::vector<GpuRankClass> folded{first.as_class(3), second.as_class(2)};
    const std::vector<GpuRankClass> unfolded{first.as_class(), second.as_class(), first.as_class(),
                                             second.as_class(), first.as_class()};
    const GpuSimulationResult a = simulate_gpu_steps(folded);
    const GpuSimulationResult b = simulate_gpu_steps(unfolded);
    ASSERT_EQ(a.step_time, b.step_time) << "case " << i;
    ASSERT_EQ(a.first_step, b.first_step) << "case " << i;
    for (std::size_t k = 0; k < b.classes.size(); ++k) {
      ASSERT_TRUE(equal(a.classes[k % 2], b.classes[k])) << "case " << i << ", rank " << k;
    }
    for (std::size_t k = 0; k < a.collectives.size(); ++k) {
      ASSERT_EQ(a.collectives[k].last_arrival, b.collectives[k].last_arrival);
      ASSERT_EQ(a.collectives[k].end, b.collectives[k].end);
    }
  }
}

}  // namespace
}  // namespace paceline::sim
