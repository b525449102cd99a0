#include "sim/predict/simulated_trace.hpp"

#include <algorithm>
#include <utility>

namespace paceline::sim {
namespace {

class RankTrace {
 public:
  RankTrace(const CostedProgram& program, int rank, core::Time origin, core::Trace& trace)
      : program_(program), rank_(rank), origin_(origin), trace_(trace) {}

  void add_step(core::Time begin, core::Time period) {
    add("ProfilerStep#0", core::TraceCategory::user_annotation, core::Stream::compute, begin,
        begin + period, {});
  }

  void add_segment(const Segment& segment) {
    const CostedOperation& costed = program_.operations[segment.operation];
    const models::Operation& operation = program_.program->operations[segment.operation];
    using core::TraceCategory;
    switch (segment.activity) {
      case Activity::operation:
        add(operation.name(), TraceCategory::kernel, costed.stream,
            segment.begin + costed.host_issue, segment.end,
            {{"kind", std::string(core::spelling(operation.kind))}});
        return;
      case Activity::ring_step: {
        const std::size_t steps = program_.collectives[costed.collective].steps.size();
        add("ring step " + std::to_string(segment.ring_step + 1) + " of " + std::to_string(steps),
            TraceCategory::user_annotation, costed.stream, segment.begin, segment.end,
            {{"collective", operation.name()}});
        return;
      }
      case Activity::wait:
        add(std::string(core::spelling(segment.phase)), TraceCategory::user_annotation,
            core::Stream::compute, segment.begin, segment.end, {{"collective", operation.name()}});
        return;
      case Activity::host_issue:
        return;
    }
  }

  void add_collective(std::size_t operation, core::Time arrived, core::Time left) {
    add(program_.program->operations[operation].name(), core::TraceCategory::kernel,
        program_.operations[operation].stream, arrived, left,
        {{"kind", std::string(core::spelling(program_.program->operations[operation].kind))}});
  }

 private:
  void add(std::string name, core::TraceCategory category, core::Stream stream, core::Time begin,
           core::Time end, std::map<std::string, std::string> args) {
    trace_.events.push_back({.name = std::move(name),
                             .category = category,
                             .rank = rank_,
                             .stream = stream,
                             .start_us = (begin - origin_).us(),
                             .duration_us = (end - begin).us(),
                             .args = std::move(args)});
  }

  const CostedProgram& program_;
  int rank_;
  core::Time origin_;
  core::Trace& trace_;
};

const CollectiveResult& result_of(const SimulationResult& result,
                                  const CostedCollective& collective) {
  return *std::find_if(
      result.collectives.begin(), result.collectives.end(), [&](const CollectiveResult& one) {
        return one.communicator == collective.communicator && one.sequence == collective.sequence;
      });
}

}  // namespace

core::Trace simulated_trace(const World& world, const SimulationResult& result,
                            const std::vector<std::string>& device_names) {
  core::Trace trace;
  trace.backend = world.programs.size() > 1 ? "mpi" : "none";
  trace.world_size = static_cast<int>(world.programs.size());
  core::Time origin = result.ranks.front().begin;
  for (const RankResult& rank : result.ranks) origin = std::min(origin, rank.begin);
  for (std::size_t index = 0; index < result.ranks.size(); ++index) {
    const RankResult& rank = result.ranks[index];
    const CostedProgram& program = world.programs[index];
    trace.ranks.push_back({static_cast<int>(index), device_names[index]});
    RankTrace events(program, static_cast<int>(index), origin, trace);
    events.add_step(rank.begin, rank.own_period);
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const std::uint32_t number = program.operations[i].collective;
      if (number == no_collective) continue;
      const CostedCollective& collective = program.collectives[number];
      const CollectiveResult& times = result_of(result, collective);
      events.add_collective(i, times.arrived[collective.position], times.left[collective.position]);
    }
    for (const Segment& segment : rank.segments) events.add_segment(segment);
  }
  return trace;
}

}  // namespace paceline::sim
