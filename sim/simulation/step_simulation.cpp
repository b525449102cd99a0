#include "sim/simulation/step_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "sim/engine/engine.hpp"
#include "sim/simulation/collective_board.hpp"
#include "sim/simulation/cpu_rank.hpp"

namespace paceline::sim {
namespace {

std::vector<CollectiveBoard::Size> board_sizes(const World& world) {
  std::vector<CollectiveBoard::Size> sizes;
  sizes.reserve(world.communicators.size());
  for (const models::Communicator& communicator : world.communicators) {
    sizes.push_back({.members = static_cast<std::uint32_t>(communicator.ranks.size())});
  }
  for (const CostedProgram& program : world.programs) {
    for (const CostedCollective& collective : program.collectives) {
      std::uint32_t& issued = sizes[collective.communicator].collectives;
      issued = std::max(issued, collective.sequence + 1);
    }
  }
  return sizes;
}

class StepSimulation {
 public:
  StepSimulation(const World& world, SimulationOptions options)
      : world_(world),
        sizes_(board_sizes(world)),
        board_(sizes_, most_steps),
        engine_(2 * world.programs.size()),
        ended_(most_steps, 0) {
    ranks_.reserve(world.programs.size());
    for (std::size_t rank = 0; rank < world.programs.size(); ++rank) {
      ranks_.emplace_back(static_cast<std::uint32_t>(rank), world.programs[rank], most_steps,
                          engine_, board_, options.keep);
    }
  }

  SimulationResult run() {
    for (CpuRank& rank : ranks_) observe(rank, [&] { rank.start(); });
    engine_.run([&](const Event& event) {
      CpuRank& rank = ranks_[event.target()];
      observe(rank, [&] { rank.handle(static_cast<CpuRankEvent>(event.kind())); });
    });
    if (!periodic_ && !all_done()) throw core::RunError(deadlock_text());
    return result();
  }

 private:
  /// Lets `rank` act and counts the steps that it ended.
  template <class Act>
  void observe(CpuRank& rank, Act&& act) {
    const std::uint32_t before = rank.timeline().steps();
    act();
    for (std::uint32_t step = before; step < rank.timeline().steps(); ++step) {
      if (++ended_[step] < ranks_.size() || periodic_) continue;
      steps_ = step + 1;
      if (step == 0 || !repeats(step)) continue;
      periodic_ = true;
      engine_.stop();
    }
  }

  [[nodiscard]] bool repeats(std::uint32_t step) const {
    return std::all_of(ranks_.begin(), ranks_.end(), [&](const CpuRank& rank) {
      return rank.timeline().period(step) == rank.timeline().period(step - 1);
    });
  }
  [[nodiscard]] bool all_done() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const CpuRank& rank) { return rank.done(); });
  }

  [[nodiscard]] std::string deadlock_text() const {
    std::string text = fmt::format("at {} s nothing can go on:", engine_.now().seconds());
    for (std::size_t index = 0; index < ranks_.size(); ++index) {
      text += fmt::format("\n  rank {} {}", index, situation_of(ranks_[index]));
    }
    return text;
  }

  [[nodiscard]] std::string situation_of(const CpuRank& rank) const {
    const auto& awaited = rank.awaited();
    if (!awaited) {
      return rank.done() ? fmt::format("has ended all of its {} steps", most_steps)
                         : "stands at " + rank.operation_name();
    }
    const CostedCollective& collective = rank.current_collective();
    const models::Communicator& communicator = world_.communicators[collective.communicator];
    return fmt::format(
        "waits in {} (collective {} of \"{}\" in training step {}) for rank {} to post ring step "
        "{} of {}",
        rank.operation_name(), collective.sequence, communicator.name, rank.timeline().steps(),
        communicator.ranks.at(awaited->from), rank.ring_step(), collective.steps.size());
  }

  [[nodiscard]] SimulationResult result() const {
    SimulationResult result;
    result.periodic = periodic_;
    result.steps = steps_;
    result.events = engine_.events_handled();
    result.event_log_hash = engine_.event_log_hash();
    for (const CpuRank& rank : ranks_) {
      result.first_step = std::max(result.first_step, rank.timeline().end_of(0));
      result.ranks.push_back(rank_result(rank));
      result.step_time = std::max(result.step_time, result.ranks.back().own_period);
    }
    for (RankResult& rank : result.ranks) {
      rank.phases[core::TimelinePhase::straggler_wait] += result.step_time - rank.own_period;
    }
    add_period_range(result);
    add_collectives(result);
    return result;
  }

  [[nodiscard]] std::uint32_t last_step() const { return steps_ - 1; }

  [[nodiscard]] RankResult rank_result(const CpuRank& rank) const {
    const Timeline& timeline = rank.timeline();
    RankResult result;
    result.begin = timeline.begin_of(last_step());
    if (periodic_) {
      result.own_period = timeline.period(last_step());
      result.phases = timeline.phases(last_step());
    } else {
      add_mean(timeline, result);
    }
    for (const Segment& segment : timeline.segments()) {
      if (segment.step == last_step()) result.segments.push_back(segment);
    }
    return result;
  }

  /// Means over all steps but the first, in whole picoseconds; what rounding loses goes to the
  /// longest phase.
  void add_mean(const Timeline& timeline, RankResult& result) const {
    const std::int64_t steps = last_step();
    const auto mean = [steps](core::Time sum) { return core::Time::from_ps(sum.ps() / steps); };
    result.own_period = mean(timeline.end_of(last_step()) - timeline.end_of(0));
    core::Time rest = result.own_period;
    auto longest = core::TimelinePhase::other;
    for (std::size_t i = 0; i < core::count_of<core::TimelinePhase>; ++i) {
      const auto phase = static_cast<core::TimelinePhase>(i);
      core::Time sum;
      for (std::uint32_t step = 1; step < steps_; ++step) sum += timeline.phases(step)[phase];
      result.phases[phase] = mean(sum);
      rest -= result.phases[phase];
      if (result.phases[phase] > result.phases[longest]) longest = phase;
    }
    result.phases[longest] += rest;
  }

  void add_period_range(SimulationResult& result) const {
    const auto slowest =
        std::find_if(result.ranks.begin(), result.ranks.end(),
                     [&](const RankResult& rank) { return rank.own_period == result.step_time; });
    const Timeline& timeline =
        ranks_[static_cast<std::size_t>(slowest - result.ranks.begin())].timeline();
    result.shortest_period = timeline.period(last_step());
    for (std::uint32_t step = 1; step < steps_; ++step) {
      result.shortest_period = std::min(result.shortest_period, timeline.period(step));
      result.longest_period = std::max(result.longest_period, timeline.period(step));
    }
  }

  void add_collectives(SimulationResult& result) const {
    for (std::uint32_t communicator = 0; communicator < sizes_.size(); ++communicator) {
      for (std::uint32_t i = 0; i < sizes_[communicator].collectives; ++i) {
        const CollectiveInstance instance = board_.instance(communicator, last_step(), i);
        CollectiveResult collective{
            .communicator = communicator,
            .sequence = i,
            .last_arrival = board_.last_arrival(instance).value_or(core::Time{}),
            .end = board_.end(instance),
            .arrived = {},
            .left = {}};
        for (std::uint32_t member = 0; member < sizes_[communicator].members; ++member) {
          collective.arrived.push_back(board_.arrived_at(instance, member));
          collective.left.push_back(board_.left_at(instance, member));
        }
        result.collectives.push_back(std::move(collective));
      }
    }
  }

  const World& world_;
  std::vector<CollectiveBoard::Size> sizes_;
  CollectiveBoard board_;
  Engine engine_;
  std::vector<CpuRank> ranks_;
  std::vector<std::size_t> ended_;  // by step: ranks that ended it
  std::uint32_t steps_ = 0;         // ended by all ranks
  bool periodic_ = false;
};

}  // namespace

SimulationResult simulate_steps(const World& world, SimulationOptions options) {
  if (world.programs.empty()) throw core::InvariantError("a simulation of no ranks");
  return StepSimulation(world, options).run();
}

}  // namespace paceline::sim
