#include "runtime/measure/world_times.hpp"

#include <algorithm>

#include "core/statistics.hpp"
#include "runtime/comm/numbers.hpp"

namespace paceline::runtime {
namespace {

constexpr double us_per_ns = 1e-3;
constexpr double most_uncertainty_of_step = 0.01;

/// Element by element the largest of all ranks, at every rank.
std::vector<double> largest_of_all(const std::vector<double>& mine, Communicator& communicator) {
  std::vector<double> largest = mine;
  for (const auto& theirs : gather_numbers(communicator, mine)) {
    for (std::size_t i = 0; i < largest.size(); ++i) {
      largest[i] = std::max(largest[i], theirs.at(i));
    }
  }
  return broadcast_numbers(communicator, largest);
}

}  // namespace

std::vector<std::size_t> collectives_of(const models::Program& program) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (std::holds_alternative<models::CollectiveShape>(program.operations[i].shape)) {
      indices.push_back(i);
    }
  }
  return indices;
}

WorldTimes exchange_times(const models::Program& program, const TimedRun& run,
                          Communicator& communicator) {
  const std::vector<std::size_t> collectives = collectives_of(program);
  std::vector<double> mine{run.clock.is_one_clock() ? 0.0 : run.clock.uncertainty_us(),
                           run.clock.is_one_clock() ? 0.0 : 1.0};
  for (const StepRecord& step : run.steps) {
    mine.push_back(static_cast<double>(step.end_ns - step.start_ns) * us_per_ns);
    for (const std::size_t index : collectives) {
      mine.push_back(run.clock.on_rank_0_us(step.joined_ns[index]));
      mine.push_back(run.clock.on_rank_0_us(step.left_ns[index]));
    }
  }
  const std::vector<double> latest = largest_of_all(mine, communicator);
  WorldTimes world;
  std::size_t next = 0;
  const double uncertainty_us = latest[next++];
  world.one_clock = latest[next++] == 0.0;
  for (std::size_t step = 0; step < run.steps.size(); ++step) {
    world.step_us.push_back(latest[next++]);
    for (const std::size_t index : collectives) {
      world.joined_us[index].push_back(latest[next++]);
      world.ended_us[index].push_back(latest[next++]);
    }
  }
  world.separates_waits = uncertainty_us <= most_uncertainty_of_step * core::median(world.step_us);
  return world;
}

}  // namespace paceline::runtime
