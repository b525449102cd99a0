#include "sim/simulation/costed_program.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "models/schedules/ring.hpp"
#include "sim/compute/microseconds.hpp"

namespace paceline::sim {
namespace {

using models::OperationId;

/// The communicators of all ranks, each once.
class CommunicatorTable {
 public:
  std::uint32_t index_of(const models::Communicator& communicator) {
    const auto next = static_cast<std::uint32_t>(list_.size());
    const auto [entry, inserted] = by_name_.emplace(communicator.name, next);
    if (inserted) list_.push_back(communicator);
    return entry->second;
  }
  [[nodiscard]] std::vector<models::Communicator> take() { return std::move(list_); }

 private:
  std::map<std::string, std::uint32_t> by_name_;
  std::vector<models::Communicator> list_;
};

class RankCoster {
 public:
  RankCoster(const models::Program& program, KernelCost& kernels, ExchangeCost& exchanges,
             CommunicatorTable& communicators, FaultSet& faults)
      : program_(program),
        kernels_(kernels),
        exchanges_(exchanges),
        communicators_(communicators),
        faults_(faults) {}

  CostedProgram cost() {
    CostedProgram result;
    result.program = &program_;
    std::map<std::uint32_t, std::uint32_t> issued;                 // by communicator
    std::vector<std::uint32_t> order(program_.operations.size());  // on the communication stream
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      const models::Operation& operation = program_.operations[i];
      CostedOperation costed{.phase = timeline_phase(operation.phase), .stream = operation.stream};
      if (operation.stream == core::Stream::compute) costed.host_issue = kernels_.host_issue();
      if (const auto* shape = std::get_if<models::CollectiveShape>(&operation.shape)) {
        costed.collective = static_cast<std::uint32_t>(result.collectives.size());
        result.collectives.push_back(collective(*shape, issued));
      } else {
        costed.duration =
            sum_within_limit(costed.host_issue, kernels_.time_of(operation), operation.name());
      }
      costed.communication_before = communication_before(i, order);
      if (operation.stream == core::Stream::communication) {
        order[i] = static_cast<std::uint32_t>(result.communication.size());
        result.communication.push_back(static_cast<std::uint32_t>(i));
      }
      result.operations.push_back(costed);
    }
    return result;
  }

 private:
  /// How many operations of the communication stream operation `index` waits for.
  [[nodiscard]] std::uint32_t communication_before(std::size_t index,
                                                   const std::vector<std::uint32_t>& order) const {
    std::uint32_t before = 0;
    for (const OperationId wanted : program_.dependencies_of(OperationId(index))) {
      if (wanted.index() >= index) {
        throw core::InvariantError("operation " + program_.operations[index].name() +
                                   " depends on " + program_.at(wanted).name() +
                                   ", which is issued after it");
      }
      if (program_.at(wanted).stream != core::Stream::communication) continue;
      before = std::max(before, order[wanted.index()] + 1);
    }
    return before;
  }

  CostedCollective collective(const models::CollectiveShape& shape,
                              std::map<std::uint32_t, std::uint32_t>& issued) {
    const models::Communicator& communicator = program_.at(shape.communicator);
    const auto& ranks = communicator.ranks;
    const auto member = std::find(ranks.begin(), ranks.end(), program_.rank);
    if (member == ranks.end()) {
      throw core::InvariantError("rank " + std::to_string(program_.rank) + " is not in \"" +
                                 communicator.name + "\", whose collective it issues");
    }
    CostedCollective result;
    result.communicator = communicators_.index_of(communicator);
    result.position = static_cast<std::uint32_t>(member - ranks.begin());
    result.sequence = issued[result.communicator]++;
    for (const models::ScheduleStep& step : models::ring_all_reduce(
             static_cast<int>(result.position), static_cast<int>(ranks.size()), shape.elements)) {
      result.steps.push_back({.duration = step_time(step, ranks, shape),
                              .receive_from = static_cast<std::uint32_t>(step.receive_from),
                              .send_to = static_cast<std::uint32_t>(step.send_to)});
    }
    return result;
  }

  core::Time step_time(const models::ScheduleStep& step, const std::vector<int>& ranks,
                       const models::CollectiveShape& shape) {
    const std::int64_t size = core::bytes_per_element(shape.type);
    const core::Bytes received(step.receive_elements * size);
    const core::Bytes sent(step.send_elements * size);
    const int self = program_.rank;
    try {
      const core::Time exchange = std::max(
          exchanges_.time_of(ranks.at(static_cast<std::size_t>(step.receive_from)), self, received),
          exchanges_.time_of(self, ranks.at(static_cast<std::size_t>(step.send_to)), sent));
      const bool reduced = step.received == models::ScheduleStep::Received::reduced;
      if (!reduced) return exchange;
      return sum_within_limit(exchange, kernels_.reduction(received), "a step of a collective");
    } catch (const core::ConfigError& error) {
      faults_.add_all(error.faults());  // a missing way is missed by every step
      return {};
    }
  }

  const models::Program& program_;
  KernelCost& kernels_;
  ExchangeCost& exchanges_;
  CommunicatorTable& communicators_;
  FaultSet& faults_;
};

}  // namespace

World cost_world(std::span<const models::Program> programs, std::span<KernelCost> costs,
                 ExchangeCost& exchanges, FaultSet& faults) {
  if (programs.size() != costs.size()) {
    throw core::InvariantError(std::to_string(programs.size()) + " Programs with " +
                               std::to_string(costs.size()) + " kernel costs");
  }
  World world;
  CommunicatorTable communicators;
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    world.programs.push_back(
        RankCoster(programs[rank], costs[rank], exchanges, communicators, faults).cost());
  }
  world.communicators = communicators.take();
  return world;
}

core::TimelinePhase timeline_phase(core::Phase phase) {
  switch (phase) {
    case core::Phase::data:
      return core::TimelinePhase::data_wait;
    case core::Phase::forward:
      return core::TimelinePhase::forward;
    case core::Phase::backward:
      return core::TimelinePhase::backward;
    case core::Phase::communication:
      return core::TimelinePhase::exposed_communication;
    case core::Phase::optimizer:
      return core::TimelinePhase::optimizer;
  }
  return core::TimelinePhase::other;
}

}  // namespace paceline::sim
