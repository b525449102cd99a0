#include "sim/simulation/gpu_steps.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "sim/simulation/step_simulation.hpp"

namespace paceline::sim {
namespace {

using core::Stream;
using core::Time;
using core::TimelinePhase;

/// One collective of one step: who has arrived, and when it ends.
struct Meeting {
  std::size_t arrived = 0;  // classes
  Time last_arrival;
  Time end;
  bool complete = false;
};

struct Placed {
  Time begin, end;
  bool done = false;
};

class GpuRank {
 public:
  GpuRank(const GpuRankClass& what, std::size_t classes) : what_(what), classes_(classes) {
    const std::size_t count = what.operations.size();
    placed_.resize(count);
    ends_.reserve(launch_queue);
  }

  /// Goes on until the step is complete or it waits for a collective. True if anything moved.
  bool advance(std::vector<Meeting>& meetings) {
    bool moved = advance_communication(meetings);
    while (next_ < what_.operations.size()) {
      if (!step_compute(meetings)) return moved;
      moved = true;
      advance_communication(meetings);
    }
    return advance_communication(meetings) || moved;
  }

  [[nodiscard]] bool complete() const {
    return next_ == what_.operations.size() && waiting_.empty();
  }
  /// The operation that it cannot end: a collective that others have not reached, else the next.
  [[nodiscard]] std::size_t stands_at() const {
    return waiting_.empty() ? next_ : waiting_.front().index;
  }

  /// Closes the step; its results stand until the next `begin_step`.
  void end_step(const std::vector<Meeting>& meetings) {
    const Time end = std::max(compute_, communication_);
    explain_gap(meetings, end, end);
    periods_.push_back(end - step_end_);
    step_begin_ = step_end_;
    step_end_ = end;
    compute_ = end;
    communication_ = std::max(communication_, end);
  }
  void begin_step() {
    next_ = 0;
    communicated_.clear();
    explained_ = 0;
    phases_ = {};
    host_busy_ = {};
    compute_busy_ = {};
    std::fill(placed_.begin(), placed_.end(), Placed{});
  }

  [[nodiscard]] const std::vector<Time>& periods() const { return periods_; }
  [[nodiscard]] GpuClassResult result() const {
    GpuClassResult result{.phases = phases_,
                          .operations = {},
                          .begin = step_begin_,
                          .host_busy = host_busy_,
                          .compute_busy = compute_busy_};
    result.operations.reserve(placed_.size());
    for (const Placed& one : placed_) result.operations.push_back({one.begin, one.end});
    return result;
  }

 private:
  bool step_compute(std::vector<Meeting>& meetings) {
    const GpuOperation& operation = what_.operations[next_];
    // Dependencies first: without them nothing moves.
    Time ready;
    for (const models::OperationId id :
         what_.program->dependencies_of(models::OperationId(next_))) {
      const Placed& other = placed_[id.index()];
      if (!other.done) return false;
      ready = std::max(ready, other.end);
    }
    if (!issued_) {
      issue(operation);
      issued_ = true;
    }
    if (operation.stream == Stream::communication) {
      waiting_.push_back({next_, std::max(host_, ready)});
      advance_index();
      return true;
    }
    if (operation.collective != no_gpu_collective) {
      return collective_on_compute(operation, meetings, ready);
    }
    const Time start = std::max({compute_, host_, ready});
    explain_gap(meetings, ready, start);
    place(start, start + operation.duration);
    phases_[operation.phase] += operation.duration;
    compute_busy_ += operation.duration;
    compute_ = start + operation.duration;
    advance_index();
    return true;
  }

  void issue(const GpuOperation& operation) {
    // The launch blocks while the compute stream's queue is full.
    if (operation.stream == Stream::compute && ends_.size() >= launch_queue) {
      host_ = std::max(host_, ends_[oldest_]);
      oldest_ = (oldest_ + 1) % launch_queue;
    }
    host_ += operation.host_issue;
    host_busy_ += operation.host_issue;
  }
  void queue(Time end) {
    if (ends_.size() < launch_queue) {
      ends_.push_back(end);
    } else {
      ends_[(oldest_ + launch_queue - 1) % launch_queue] = end;
    }
  }

  bool collective_on_compute(const GpuOperation& operation, std::vector<Meeting>& meetings,
                             Time ready) {
    Meeting& meeting = meetings[operation.collective];
    if (!arrived_) {
      const Time start = std::max({compute_, host_, ready});
      explain_gap(meetings, ready, start);
      compute_ = start;
      arrive(meeting, start, operation.duration);
      arrived_ = true;
    }
    if (!meeting.complete) return false;
    const Time begin = compute_;
    add_gap(std::max(compute_, meeting.last_arrival), TimelinePhase::straggler_wait);
    add_gap(meeting.end, TimelinePhase::exposed_communication);
    place(begin, meeting.end);
    arrived_ = false;
    advance_index();
    return true;
  }

  void arrive(Meeting& meeting, Time start, Time duration) const {
    meeting.last_arrival = meeting.arrived == 0 ? start : std::max(meeting.last_arrival, start);
    if (++meeting.arrived < classes_) return;
    meeting.end = meeting.last_arrival + duration;
    meeting.complete = true;
  }

  bool advance_communication(std::vector<Meeting>& meetings) {
    bool moved = false;
    while (!waiting_.empty()) {
      const auto [index, ready] = waiting_.front();
      const GpuOperation& operation = what_.operations[index];
      Meeting& meeting = meetings[operation.collective];
      if (!communication_arrived_) {
        communication_start_ = std::max(communication_, ready);
        arrive(meeting, communication_start_, operation.duration);
        communication_arrived_ = true;
        moved = true;
      }
      if (!meeting.complete) return moved;
      placed_[index] = {communication_start_, meeting.end, true};
      communicated_.push_back(index);
      communication_ = meeting.end;
      communication_arrived_ = false;
      waiting_.erase(waiting_.begin());
      moved = true;
    }
    return moved;
  }

  void place(Time begin, Time end) {
    placed_[next_] = {begin, end, true};
    queue(end);
  }
  void advance_index() {
    ++next_;
    issued_ = false;
  }

  /// What the compute stream waited for up to `start`: until `ready` for the communication stream,
  /// one collective after the other, each first for its issue, then for the last member, then for
  /// its end; after that for the host.
  void explain_gap(const std::vector<Meeting>& meetings, Time ready, Time start) {
    for (; explained_ < communicated_.size(); ++explained_) {
      const std::size_t index = communicated_[explained_];
      const Placed& placed = placed_[index];
      if (placed.end > ready) break;
      add_gap(placed.begin, TimelinePhase::host_bound_idle);
      add_gap(meetings[what_.operations[index].collective].last_arrival,
              TimelinePhase::straggler_wait);
      add_gap(placed.end, TimelinePhase::exposed_communication);
    }
    add_gap(start, TimelinePhase::host_bound_idle);
  }
  void add_gap(Time until, TimelinePhase phase) {
    if (until <= compute_) return;
    phases_[phase] += until - compute_;
    compute_ = until;
  }

  const GpuRankClass& what_;
  std::size_t classes_;
  std::vector<Placed> placed_;
  std::vector<Time> ends_;  // of the last `launch_queue` operations, a ring
  std::size_t oldest_ = 0;
  struct Waiting {
    std::size_t index;
    Time ready;
  };
  std::vector<Waiting> waiting_;           // issued to the communication stream
  std::vector<std::size_t> communicated_;  // ended on it in this step
  std::size_t explained_ = 0;              // of those: they lie before `compute_`
  std::size_t next_ = 0;
  bool issued_ = false, arrived_ = false, communication_arrived_ = false;
  Time host_, compute_, communication_, communication_start_;
  Time step_begin_, step_end_, host_busy_, compute_busy_;
  PhaseSums phases_;
  std::vector<Time> periods_;
};

std::size_t collectives_of(const GpuRankClass& what) {
  std::size_t count = 0;
  for (const GpuOperation& operation : what.operations) {
    if (operation.collective != no_gpu_collective) ++count;
  }
  return count;
}

[[noreturn]] void report_deadlock(std::span<const GpuRankClass> classes,
                                  const std::vector<GpuRank>& ranks) {
  std::string text = "ranks wait for each other for ever:";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t next = ranks[i].stands_at();
    const models::Program& program = *classes[i].program;
    text += " rank " + std::to_string(program.rank) + " in " +
            (next < program.operations.size() ? program.operations[next].name() : "its end") + ";";
  }
  throw core::RunError(text + " their Programs issue different collectives");
}

bool same_period(const std::vector<GpuRank>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(), [](const GpuRank& rank) {
    const auto& periods = rank.periods();
    return periods.size() > 2 && periods.back() == periods[periods.size() - 2];
  });
}

/// The slowest class's times, over the steps after the first.
void summarise(const std::vector<GpuRank>& ranks, GpuSimulationResult& result) {
  const auto slowest = std::max_element(
      ranks.begin(), ranks.end(),
      [](const GpuRank& a, const GpuRank& b) { return a.periods().back() < b.periods().back(); });
  const std::vector<Time>& periods = slowest->periods();
  result.first_step = periods.front();
  Time sum;
  result.shortest_period = periods.back();
  for (std::size_t i = 1; i < periods.size(); ++i) {
    sum += periods[i];
    result.shortest_period = std::min(result.shortest_period, periods[i]);
    result.longest_period = std::max(result.longest_period, periods[i]);
  }
  const auto counted = static_cast<std::int64_t>(periods.size() - 1);
  result.step_time = result.periodic ? periods.back() : Time::from_ps(sum.ps() / counted);
}

}  // namespace

GpuSimulationResult simulate_gpu_steps(std::span<const GpuRankClass> classes) {
  GpuSimulationResult result;
  std::vector<GpuRank> ranks;
  ranks.reserve(classes.size());
  for (const GpuRankClass& one : classes) ranks.emplace_back(one, classes.size());
  std::size_t collectives = 0;  // unequal counts end as a deadlock
  for (const GpuRankClass& one : classes) collectives = std::max(collectives, collectives_of(one));
  std::vector<Meeting> meetings;
  while (result.steps < most_steps && !result.periodic) {
    meetings.assign(collectives, Meeting{});
    for (GpuRank& rank : ranks) rank.begin_step();
    const auto all_complete = [&] {
      return std::all_of(ranks.begin(), ranks.end(), [](const auto& r) { return r.complete(); });
    };
    while (!all_complete()) {
      bool moved = false;
      for (GpuRank& rank : ranks) moved = rank.advance(meetings) || moved;
      if (!moved && !all_complete()) report_deadlock(classes, ranks);
    }
    for (GpuRank& rank : ranks) rank.end_step(meetings);
    ++result.steps;
    result.periodic = same_period(ranks);
  }
  summarise(ranks, result);
  for (const GpuRank& rank : ranks) {
    GpuClassResult& one = result.classes.emplace_back(rank.result());
    // A class that nothing couples to the slowest has its step earlier; it waits for the others.
    Time sum;
    for (const Time time : one.phases) sum += time;
    if (result.periodic && sum < result.step_time) {
      one.phases[TimelinePhase::straggler_wait] += result.step_time - sum;
    }
  }
  for (std::uint32_t i = 0; i < meetings.size(); ++i) {
    result.collectives.push_back({i, meetings[i].last_arrival, meetings[i].end});
  }
  return result;
}

}  // namespace paceline::sim
