#include "sim/network/compiled_schedule.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

using models::ScheduleStep;

constexpr std::uint32_t none = CompiledSchedule::none;

/// Where step i of member m lies: by number, then by member.
std::vector<std::vector<std::uint32_t>> places(const models::Schedule& schedule) {
  std::size_t most = 0;
  for (const auto& steps : schedule.members) most = std::max(most, steps.size());
  std::vector<std::vector<std::uint32_t>> place(schedule.members.size());
  for (std::size_t m = 0; m < place.size(); ++m) place[m].resize(schedule.members[m].size());
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t m = 0; m < place.size(); ++m) {
      if (i < place[m].size()) place[m][i] = next++;
    }
  }
  return place;
}

/// Steps by the lane that sends them and the lane that receives.
class Pairing {
 public:
  explicit Pairing(std::size_t members) : members_(members) {}

  void add(int from, int to, int lane, std::uint32_t step) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(from) * members_ + static_cast<std::uint64_t>(to)) << 8 |
        static_cast<std::uint64_t>(lane);
    if (last_ == nullptr || key != last_key_) {
      last_key_ = key;
      last_ = &lists_[key];
    }
    last_->push_back(step);
  }
  [[nodiscard]] const std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>& lists() const {
    return lists_;
  }

 private:
  std::size_t members_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> lists_;
  std::uint64_t last_key_ = 0;
  std::vector<std::uint32_t>* last_ = nullptr;  // most steps go where the one before went
};

void join(const Pairing& sends, const Pairing& receives,
          std::vector<CompiledSchedule::Step>& steps) {
  for (const auto& [way, sent] : sends.lists()) {
    const auto found = receives.lists().find(way);
    const std::size_t received = found == receives.lists().end() ? 0 : found->second.size();
    if (received != sent.size()) {
      throw core::InvariantError("a schedule sends " + std::to_string(sent.size()) +
                                 " times from one lane to another, which receives " +
                                 std::to_string(received) + " times (must be equal)");
    }
    for (std::size_t i = 0; i < received; ++i) steps[sent[i]].peer = found->second[i];
  }
  if (sends.lists().size() != receives.lists().size()) {
    throw core::InvariantError("a schedule receives what nobody sends (a step would never end)");
  }
}

}  // namespace

CompiledSchedule compile(const models::Schedule& schedule, std::int64_t element_bytes,
                         const WayOf& way_of) {
  const auto place = places(schedule);
  const std::size_t members = schedule.members.size();
  CompiledSchedule compiled;
  std::size_t steps = 0;
  for (const auto& of_member : place) steps += of_member.size();
  compiled.steps.resize(steps);
  compiled.lane_begin.assign(1, 0);
  Pairing sends(members);
  Pairing receives(members);
  for (std::size_t m = 0; m < members; ++m) {
    const auto& of_member = schedule.members[m];
    std::map<int, std::uint32_t> last_of_lane;
    std::map<int, std::uint32_t> lane_id;
    for (const ScheduleStep& step : of_member) lane_id.try_emplace(step.lane, 0);
    for (auto& [lane, id] : lane_id) {
      id = static_cast<std::uint32_t>(compiled.first_step.size());
      compiled.first_step.push_back(none);
      compiled.member_of.push_back(static_cast<std::uint32_t>(m));
    }
    compiled.lane_begin.push_back(static_cast<std::uint32_t>(compiled.first_step.size()));
    compiled.steps_of.push_back(static_cast<std::uint32_t>(of_member.size()));
    int way_to = ScheduleStep::nobody;
    FlowNetwork::WayId way = none;
    for (std::size_t i = 0; i < of_member.size(); ++i) {
      const ScheduleStep& step = of_member[i];
      const std::uint32_t at = place[m][i];
      CompiledSchedule::Step& made = compiled.steps[at];
      const auto from = static_cast<int>(m);
      if (step.send_to != ScheduleStep::nobody) {
        if (step.send_to != way_to) {
          way_to = step.send_to;
          way = way_of(from, way_to);
        }
        made.way = way;
        made.bytes = step.send_elements * element_bytes;
        sends.add(from, step.send_to, step.lane, at);
      }
      if (step.receive_from != ScheduleStep::nobody) {
        made.receives = true;
        receives.add(step.receive_from, from, step.lane, at);
      }
      made.lane = lane_id[step.lane];
      if (step.after != ScheduleStep::at_once) {
        made.after = place[m][static_cast<std::size_t>(step.after)];
        compiled.steps[made.after].watched = true;
      }
      const auto [last, is_first] = last_of_lane.try_emplace(step.lane, at);
      if (is_first) {
        compiled.first_step[made.lane] = at;
      } else {
        compiled.steps[last->second].next = at;
        last->second = at;
      }
    }
  }
  join(sends, receives, compiled.steps);
  return compiled;
}

namespace {

/// Bytes of slice `slice`, counted from any side.
std::int64_t slice_bytes(int slice, int members, core::Bytes bytes) {
  const int wrapped = (slice % members + members) % members;
  return models::slice_begin(wrapped + 1, members, bytes.value()) -
         models::slice_begin(wrapped, members, bytes.value());
}

int ring_steps(core::CollectiveKind kind, int members) {
  return (kind == core::CollectiveKind::all_reduce ? 2 : 1) * (members - 1);
}

/// A slice moves one edge a step: the worst of all that start at different members.
core::Time ring_latency(std::size_t size, std::size_t steps,
                        const std::function<core::Time(int, int)>& latency_of) {
  if (size < 2) return {};
  std::vector<core::Time> edge;
  core::Time round;
  for (std::size_t m = 0; m < size; ++m) {
    edge.push_back(latency_of(static_cast<int>(m), static_cast<int>((m + 1) % size)));
    round += edge.back();
  }
  const std::size_t rest = steps % size;
  core::Time most_of_rest;
  core::Time window;
  for (std::size_t i = 0; i < rest; ++i) window += edge[i];
  for (std::size_t first = 0; first < size; ++first) {
    most_of_rest = std::max(most_of_rest, window);
    window += edge[(first + rest) % size];
    window -= edge[first];
  }
  return round * static_cast<std::int64_t>(steps / size) + most_of_rest;
}

}  // namespace

CompiledSchedule compile_ring(core::CollectiveKind kind, int members, core::Bytes bytes,
                              const WayOf& way_of) {
  CompiledSchedule compiled;
  const auto size = static_cast<std::uint32_t>(members);
  const auto steps = static_cast<std::uint32_t>(ring_steps(kind, members));
  compiled.steps_of.assign(size, steps);
  compiled.lane_begin.assign(1, 0);
  CompiledSchedule::Ring ring{kind, {}, {}};
  for (std::uint32_t m = 0; m < size; ++m) {
    if (steps > 0) {
      ring.ways.push_back(way_of(static_cast<int>(m), static_cast<int>((m + 1) % size)));
      ring.slices.push_back(slice_bytes(static_cast<int>(m), members, bytes));
      compiled.first_step.push_back(m);
      compiled.member_of.push_back(m);
    }
    compiled.lane_begin.push_back(static_cast<std::uint32_t>(compiled.first_step.size()));
  }
  if (steps > 0) compiled.ring = std::move(ring);
  return compiled;
}

std::size_t CompiledSchedule::step_count() const {
  return ring ? std::size_t{steps_of[0]} * steps_of.size() : steps.size();
}

CompiledSchedule::Step CompiledSchedule::step(std::size_t index) const {
  if (!ring) return steps[index];
  const auto size = static_cast<std::uint32_t>(steps_of.size());
  const auto m = static_cast<std::uint32_t>(index % size);
  const auto s = static_cast<std::uint32_t>(index / size);
  Step step;
  step.bytes = ring->slices[sent_slice(m, s)];
  step.way = ring->ways[m];
  step.peer = s * size + (m + 1) % size;
  step.next = s + 1 < steps_of[0] ? (s + 1) * size + m : none;
  step.lane = m;
  step.receives = true;
  return step;
}

SteadyCollective steady_ring(core::CollectiveKind kind, int members, core::Bytes bytes,
                             const WayOf& way_of,
                             const std::function<core::Time(int, int)>& latency_of) {
  SteadyCollective collective;
  collective.members = static_cast<std::size_t>(members);
  if (members < 2) return collective;
  const int rounds = kind == core::CollectiveKind::all_reduce ? 2 : 1;
  for (int m = 0; m < members; ++m) {
    // Each round passes all slices but one: m + 1 first, m + 2 second, or m + 1 of a gathering.
    std::int64_t sent = rounds * bytes.value();
    if (kind == core::CollectiveKind::all_reduce) {
      sent -= slice_bytes(m + 1, members, bytes) + slice_bytes(m + 2, members, bytes);
    } else {
      sent -= slice_bytes(kind == core::CollectiveKind::reduce_scatter ? m : m + 1, members, bytes);
    }
    collective.edges.push_back({way_of(m, (m + 1) % members), sent});
  }
  collective.latency =
      ring_latency(static_cast<std::size_t>(members),
                   static_cast<std::size_t>(ring_steps(kind, members)), latency_of);
  return collective;
}

CompiledSchedule folded_ring(core::CollectiveKind kind, int members, core::Bytes bytes,
                             FlowNetwork::WayId way) {
  CompiledSchedule compiled;
  const int rounds = kind == core::CollectiveKind::all_reduce ? 2 : 1;
  const auto steps = static_cast<std::uint32_t>(rounds * (members - 1));
  for (std::uint32_t i = 0; i < steps; ++i) {
    CompiledSchedule::Step step;
    step.bytes = bytes.value() / members;
    step.way = way;
    step.peer = i;
    step.next = i + 1 < steps ? i + 1 : none;
    step.receives = true;
    compiled.steps.push_back(step);
  }
  compiled.first_step = {steps > 0 ? 0 : none};
  compiled.lane_begin = {0, 1};
  compiled.steps_of = {steps};
  compiled.member_of = {0};
  return compiled;
}

SteadyCollective steady(const models::Schedule& schedule, std::int64_t element_bytes,
                        const WayOf& way_of, const std::function<core::Time(int, int)>& latency_of,
                        core::Time fill) {
  SteadyCollective collective;
  collective.members = schedule.members.size();
  std::size_t most = 0;
  for (std::size_t m = 0; m < schedule.members.size(); ++m) {
    std::map<int, std::int64_t> sent;
    for (const ScheduleStep& step : schedule.members[m]) {
      if (step.send_to != ScheduleStep::nobody) sent[step.send_to] += step.send_elements;
    }
    for (const auto& [to, elements] : sent) {
      collective.edges.push_back({way_of(static_cast<int>(m), to), elements * element_bytes});
    }
    most = std::max(most, schedule.members[m].size());
  }
  switch (schedule.algorithm) {
    case core::CollectiveAlgorithm::tree:
      collective.latency = fill;
      break;
    case core::CollectiveAlgorithm::ring:
      collective.latency = schedule.kind == core::CollectiveKind::broadcast
                               ? fill
                               : ring_latency(schedule.members.size(), most, latency_of);
      break;
    default:
      for (std::size_t i = 0; i < most; ++i) {
        core::Time longest;
        for (std::size_t m = 0; m < schedule.members.size(); ++m) {
          if (i >= schedule.members[m].size()) continue;
          const ScheduleStep& step = schedule.members[m][i];
          if (step.send_to == ScheduleStep::nobody) continue;
          longest = std::max(longest, latency_of(static_cast<int>(m), step.send_to));
        }
        collective.latency += longest;
      }
  }
  return collective;
}

}  // namespace paceline::sim
