#include "runtime/measure/measured_trace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "runtime/comm/numbers.hpp"

namespace paceline::runtime {
namespace {

using models::Operation;

struct TracedEntry {
  TimelineEntry::What what{};
  std::size_t operation = 0;
  double issued_us = 0, begin_us = 0, end_us = 0;
};

/// Clocks count whole nanoseconds; less is rounding.
constexpr double half_a_clock_tick_us = 0.0005;

/// A step of one rank, on rank 0's clock.
struct TracedStep {
  double begin_us = 0, end_us = 0;
  std::vector<double> joined_us, left_us;  // by collective, in issue order
  std::vector<TracedEntry> entries;
};

std::vector<double> packed(const StepRecord& step, const ClockAlignment& clock,
                           const std::vector<std::size_t>& collectives) {
  std::vector<double> numbers{clock.on_rank_0_us(step.start_ns), clock.on_rank_0_us(step.end_ns)};
  for (const std::size_t index : collectives) {
    numbers.push_back(clock.on_rank_0_us(step.joined_ns[index]));
    numbers.push_back(clock.on_rank_0_us(step.left_ns[index]));
  }
  numbers.push_back(static_cast<double>(step.timeline.size()));
  for (const TimelineEntry& entry : step.timeline) {
    numbers.push_back(static_cast<double>(entry.what));
    numbers.push_back(static_cast<double>(entry.operation));
    numbers.push_back(clock.on_rank_0_us(entry.issued_ns));
    numbers.push_back(clock.on_rank_0_us(entry.begin_ns));
    numbers.push_back(clock.on_rank_0_us(entry.end_ns));
  }
  return numbers;
}

/// Reads what `packed` wrote, from `next` on.
TracedStep unpacked(const std::vector<double>& numbers, std::size_t collectives,
                    std::size_t& next) {
  const auto take = [&] { return numbers.at(next++); };
  TracedStep step;
  step.begin_us = take();
  step.end_us = take();
  for (std::size_t i = 0; i < collectives; ++i) {
    step.joined_us.push_back(take());
    step.left_us.push_back(take());
  }
  const auto entries = static_cast<std::size_t>(take());
  for (std::size_t i = 0; i < entries; ++i) {
    TracedEntry entry;
    entry.what = static_cast<TimelineEntry::What>(static_cast<int>(take()));
    entry.operation = static_cast<std::size_t>(take());
    entry.issued_us = take();
    entry.begin_us = take();
    entry.end_us = take();
    step.entries.push_back(entry);
  }
  return step;
}

/// Appends one rank's events.
class RankEvents {
 public:
  RankEvents(const models::Program& program, double origin_us, core::Trace& trace)
      : program_(program), origin_us_(origin_us), trace_(trace) {}

  /// `last_joined_us` by collective; `step_us` of the slowest rank.
  void add(const TracedStep& step, std::size_t number, const std::vector<double>& last_joined_us,
           double step_us, bool separates_waits) {
    const double world_end_us = std::max(step.end_us, step.begin_us + step_us);
    add("ProfilerStep#" + std::to_string(number), core::TraceCategory::user_annotation,
        core::Stream::compute, step.begin_us, world_end_us, {});
    const std::vector<std::size_t> collectives = collectives_of(program_);
    std::map<std::size_t, double> joined_by_all_us;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      const Operation& operation = program_.operations[collectives[i]];
      add(operation.name(), core::TraceCategory::kernel, operation.stream, step.joined_us[i],
          step.left_us[i], arguments(operation));
      joined_by_all_us[collectives[i]] = last_joined_us[i];
    }
    for (const TracedEntry& entry : step.entries) {
      const auto joined = joined_by_all_us.find(entry.operation);
      if (entry.what == TimelineEntry::What::poll) {
        annotate("poll", entry.operation, entry.begin_us, entry.end_us);
      } else if (joined != joined_by_all_us.end()) {
        const double split = separates_waits
                                 ? std::clamp(joined->second, entry.begin_us, entry.end_us)
                                 : entry.begin_us;
        annotate(spelled(core::TimelinePhase::straggler_wait), entry.operation, entry.begin_us,
                 split);
        annotate(spelled(core::TimelinePhase::exposed_communication), entry.operation, split,
                 entry.end_us);
      } else {
        const Operation& operation = program_.operations[entry.operation];
        add(operation.name(), core::TraceCategory::kernel, operation.stream, entry.begin_us,
            entry.end_us, arguments(operation));
      }
    }
    add(spelled(core::TimelinePhase::straggler_wait), core::TraceCategory::user_annotation,
        core::Stream::compute, step.end_us, world_end_us, {});
  }

 private:
  static std::string spelled(core::TimelinePhase phase) {
    return std::string(core::spelling(phase));
  }

  /// For collectives also what PyTorch's profiler states, under its names.
  [[nodiscard]] std::map<std::string, std::string> arguments(const Operation& operation) const {
    std::map<std::string, std::string> args{{"kind", std::string(core::spelling(operation.kind))}};
    const auto* const shape = std::get_if<models::CollectiveShape>(&operation.shape);
    if (shape == nullptr) return args;
    args["Collective name"] = args["kind"];
    args["In msg nelems"] = std::to_string(shape->elements);
    args["Out msg nelems"] = std::to_string(shape->elements);
    args["Group size"] = std::to_string(program_.at(shape->communicator).ranks.size());
    args["dtype"] = std::string(core::spelling(shape->type));
    return args;
  }

  void annotate(const std::string& name, std::size_t operation, double begin_us, double end_us) {
    add(name, core::TraceCategory::user_annotation, core::Stream::compute, begin_us, end_us,
        {{"collective", program_.operations[operation].name()}});
  }

  void add(std::string name, core::TraceCategory category, core::Stream stream, double begin_us,
           double end_us, std::map<std::string, std::string> args) {
    const bool is_empty = !(end_us - begin_us > half_a_clock_tick_us);
    if (category == core::TraceCategory::user_annotation && is_empty) return;
    trace_.events.push_back({.name = std::move(name),
                             .category = category,
                             .rank = program_.rank,
                             .stream = stream,
                             .start_us = begin_us - origin_us_,
                             .duration_us = end_us - begin_us,
                             .args = std::move(args)});
  }

  const models::Program& program_;
  double origin_us_;
  core::Trace& trace_;
};

}  // namespace

std::size_t typical_run_of_steps(const std::vector<double>& step_us, std::size_t count) {
  if (count < 1 || count > step_us.size()) {
    throw core::InvariantError("a run of " + std::to_string(count) + " steps out of " +
                               std::to_string(step_us.size()));
  }
  const double middle = core::median(step_us);
  std::size_t best = 0;
  double best_distance = 0;
  for (std::size_t first = 0; first + count <= step_us.size(); ++first) {
    const auto begin = step_us.begin() + static_cast<std::ptrdiff_t>(first);
    const double distance =
        std::abs(core::mean({begin, begin + static_cast<std::ptrdiff_t>(count)}) - middle);
    if (first > 0 && !(distance < best_distance)) continue;
    best = first;
    best_distance = distance;
  }
  return best;
}

core::Trace measured_trace(const std::vector<models::Program>& programs, const TimedRun& run,
                           const WorldTimes& world, std::int64_t steps,
                           Communicator& communicator) {
  const auto count = std::clamp<std::size_t>(
      static_cast<std::size_t>(std::max<std::int64_t>(steps, 1)), 1, world.step_us.size());
  const std::size_t first = typical_run_of_steps(world.step_us, count);
  const models::Program& mine = programs.at(static_cast<std::size_t>(communicator.rank()));
  std::vector<double> numbers;
  for (std::size_t step = first; step < first + count; ++step) {
    const auto more = packed(run.steps[step], run.clock, collectives_of(mine));
    numbers.insert(numbers.end(), more.begin(), more.end());
  }
  const auto gathered = gather_numbers(communicator, numbers);
  if (gathered.empty()) return {};

  core::Trace trace;
  trace.backend = communicator.size() > 1 ? "mpi" : "none";
  trace.world_size = communicator.size();
  std::vector<std::vector<TracedStep>> by_rank;
  double origin_us = gathered.front().front();
  for (std::size_t rank = 0; rank < gathered.size(); ++rank) {
    std::size_t next = 0;
    const std::size_t collectives = collectives_of(programs[rank]).size();
    by_rank.emplace_back();
    for (std::size_t step = 0; step < count; ++step) {
      by_rank.back().push_back(unpacked(gathered[rank], collectives, next));
    }
    origin_us = std::min(origin_us, by_rank.back().front().begin_us);
  }
  trace.ranks.reserve(by_rank.size());
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    trace.ranks.push_back({static_cast<int>(rank), "cpu_rank"});
    RankEvents events(programs[rank], origin_us, trace);
    for (std::size_t step = 0; step < count; ++step) {
      std::vector<double> last_joined_us;
      last_joined_us.reserve(world.joined_us.size());
      for (const auto& [operation, joined] : world.joined_us) {
        last_joined_us.push_back(joined[first + step]);
      }
      events.add(by_rank[rank][step], step, last_joined_us, world.step_us[first + step],
                 world.separates_waits);
    }
  }
  return trace;
}

}  // namespace paceline::runtime
