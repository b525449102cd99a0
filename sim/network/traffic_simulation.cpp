#include "sim/network/traffic_simulation.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "core/error.hpp"
#include "models/schedules/schedule.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/compiled_schedule.hpp"
#include "sim/network/flow_network.hpp"

namespace paceline::sim {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;
constexpr std::uint32_t none = CompiledSchedule::none;

models::Schedule schedule_of(const Traffic::Collective& collective, int members, int chunks) {
  return models::make_schedule(collective.kind, collective.algorithm, members,
                               collective.bytes.value(),
                               {.chunks = chunks, .group = collective.group});
}

bool fills_a_pipeline(const Traffic::Collective& collective) {
  return collective.algorithm == CollectiveAlgorithm::tree ||
         collective.kind == CollectiveKind::broadcast;
}

bool is_plain_ring(const Traffic::Collective& collective) {
  return collective.algorithm == CollectiveAlgorithm::ring &&
         (collective.kind == CollectiveKind::all_reduce ||
          collective.kind == CollectiveKind::reduce_scatter ||
          collective.kind == CollectiveKind::all_gather);
}

/// One collective while it runs, step by step or steady.
struct Run {
  struct Lane {
    std::uint32_t current = none;
    std::uint32_t step = 0;      // of a ring: how many before it
    std::uint32_t received = 0;  // of a ring: slices so far
    FlowNetwork::Flow flow = 0;
    bool started = false;
    bool sending = false;
  };
  enum State : std::uint8_t { arrived = 1, ended = 2 };

  std::uint32_t collective = 0;
  const CompiledSchedule* schedule = nullptr;
  const SteadyCollective* steady = nullptr;
  std::vector<std::uint8_t> state;  // by step
  std::vector<Lane> lanes;
  std::vector<std::uint32_t> steps_left;  // by member
  std::uint32_t members_begun = 0;
  std::uint32_t members_left = 0;
  std::size_t edges_left = 0;
};

class Simulation {
 public:
  Simulation(const TrafficNetwork& network, const Traffic& traffic, TrafficOptions options,
             int represents)
      : network_(network),
        traffic_(traffic),
        options_(options),
        represents_(represents),
        engine_(4 * traffic.ranks.size() + 64),
        flows_(engine_) {
    check();
    for (const core::ByteRate rate : network.capacity) flows_.add_link(rate);
    for (const auto& ranks : traffic.communicators) {
      positions_.emplace_back(traffic.ranks.size(), none);
      for (std::size_t i = 0; i < ranks.size(); ++i) {
        positions_.back()[static_cast<std::size_t>(ranks[i])] = static_cast<std::uint32_t>(i);
      }
    }
    runs_of_.assign(traffic.collectives.size(), none);
    ranks_.resize(traffic.ranks.size());
    for (RankState& rank : ranks_) rank.ended.assign(traffic.collectives.size(), false);
    result_.rank_end.resize(ranks_.size());
    result_.compute_end.resize(ranks_.size());
    result_.collective_end.resize(traffic.collectives.size());
  }

  TrafficResult run() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) advance(rank);
    engine_.run([this](const Event& event) { handle(event); });
    check_ended();
    result_.end = *std::max_element(result_.rank_end.begin(), result_.rank_end.end());
    result_.flows = flows_.flows_started();
    result_.bytes = flows_.bytes_arrived();
    result_.events = engine_.events_handled();
    result_.event_log_hash = engine_.event_log_hash();
    return std::move(result_);
  }

 private:
  enum Kind : std::uint32_t { compute_end, collective_end };
  struct RankState {
    std::size_t next = 0;
    std::vector<std::uint32_t> issued;
    std::size_t current = 0;  // of `issued`
    bool in_collective = false;
    std::uint32_t waits_for = none;
    std::vector<bool> ended;  // by collective
  };
  using Shape =
      std::tuple<std::uint32_t, CollectiveKind, CollectiveAlgorithm, std::int64_t, int, int>;

  void check() const;
  void check_ended() const;
  void handle(const Event& event);
  void advance(std::uint32_t rank);
  void start_next_collective(std::uint32_t rank);
  void member_ended(Run& run, std::uint32_t member);

  [[nodiscard]] std::uint32_t run_of(std::uint32_t collective);
  [[nodiscard]] FlowNetwork::WayId way_id(int from, int to);
  [[nodiscard]] core::Time latency(int from, int to) const {
    return network_.way(from, to).latency;
  }
  [[nodiscard]] const CompiledSchedule& compiled(const Traffic::Collective& collective);
  [[nodiscard]] const SteadyCollective& steady_of(const Traffic::Collective& collective);
  [[nodiscard]] core::Time fill_of(const Traffic::Collective& collective) const;
  [[nodiscard]] static Shape shape(const Traffic::Collective& c) {
    return {c.communicator, c.kind, c.algorithm, c.bytes.value(), c.chunks, c.group};
  }

  // Step by step.
  void begin_member(std::uint32_t run, std::uint32_t member);
  void try_start(std::uint32_t run, std::uint32_t lane);
  void try_end(std::uint32_t run, std::uint32_t lane);
  void on_arrived(FlowNetwork::Token token);
  void on_slice(std::uint32_t run, std::uint32_t sender);
  void on_ended(FlowNetwork::Token token);
  [[nodiscard]] bool has_sent(Run::Lane& lane);
  // Steady.
  void begin_steady(std::uint32_t run);

  const TrafficNetwork& network_;
  const Traffic& traffic_;
  TrafficOptions options_;
  int represents_;
  Engine engine_;
  FlowNetwork flows_;
  std::vector<std::vector<std::uint32_t>> positions_;  // by communicator and rank
  std::unordered_map<std::uint64_t, FlowNetwork::WayId> ways_;
  std::map<Shape, CompiledSchedule> compiled_;
  std::map<Shape, SteadyCollective> steady_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<std::uint32_t> free_runs_;
  std::vector<std::uint32_t> runs_of_;  // by collective
  std::vector<RankState> ranks_;
  TrafficResult result_;
};

void Simulation::check() const {
  if (traffic_.ranks.empty()) throw core::InvariantError("traffic of 0 ranks (must be >= 1)");
  for (std::size_t rank = 0; rank < traffic_.ranks.size(); ++rank) {
    for (const Traffic::Operation& operation : traffic_.ranks[rank]) {
      if (operation.what == Traffic::Do::compute) continue;
      if (operation.index >= traffic_.collectives.size()) {
        throw core::InvariantError("rank " + std::to_string(rank) + " names collective " +
                                   std::to_string(operation.index) + " (there are " +
                                   std::to_string(traffic_.collectives.size()) + ")");
      }
    }
  }
  for (const auto& ranks : traffic_.communicators) {
    for (const int rank : ranks) {
      if (rank < 0 || static_cast<std::size_t>(rank) >= traffic_.ranks.size()) {
        throw core::InvariantError("a communicator names rank " + std::to_string(rank) +
                                   " (there are " + std::to_string(traffic_.ranks.size()) + ")");
      }
    }
  }
  for (const Traffic::Collective& collective : traffic_.collectives) {
    if (collective.communicator >= traffic_.communicators.size()) {
      throw core::InvariantError("a collective names communicator " +
                                 std::to_string(collective.communicator) + " (there are " +
                                 std::to_string(traffic_.communicators.size()) + ")");
    }
  }
}

void Simulation::check_ended() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankState& state = ranks_[rank];
    const bool computes = state.next < traffic_.ranks[rank].size();
    if (!computes && state.current == state.issued.size()) continue;
    const std::uint32_t collective =
        state.current < state.issued.size() ? state.issued[state.current] : state.waits_for;
    throw core::RunError("rank " + std::to_string(rank) + " waits for ever for collective " +
                         std::to_string(collective) +
                         " (do all members issue it, and in the same order?)");
  }
}

FlowNetwork::WayId Simulation::way_id(int from, int to) {
  const std::uint64_t key = static_cast<std::uint64_t>(from) << 32 | static_cast<unsigned>(to);
  const auto [entry, is_new] = ways_.try_emplace(key, 0);
  if (is_new) {
    const TrafficNetwork::Way way = network_.way(from, to);
    entry->second = flows_.add_way(way.links, way.latency);
  }
  return entry->second;
}

const CompiledSchedule& Simulation::compiled(const Traffic::Collective& collective) {
  const auto found = compiled_.find(shape(collective));
  if (found != compiled_.end()) return found->second;
  const auto& ranks = traffic_.communicators[collective.communicator];
  if (represents_ > 1) {
    return compiled_
        .emplace(shape(collective),
                 folded_ring(collective.kind, represents_, collective.bytes, way_id(0, 0)))
        .first->second;
  }
  const auto way = [&](int from, int to) {
    return way_id(ranks[static_cast<std::size_t>(from)], ranks[static_cast<std::size_t>(to)]);
  };
  if (is_plain_ring(collective)) {
    return compiled_
        .emplace(shape(collective), compile_ring(collective.kind, static_cast<int>(ranks.size()),
                                                 collective.bytes, way))
        .first->second;
  }
  return compiled_
      .emplace(shape(collective),
               compile(schedule_of(collective, static_cast<int>(ranks.size()), collective.chunks),
                       1, way))
      .first->second;
}

/// What the first chunk takes beyond the flow of its bytes, on an idle network.
core::Time Simulation::fill_of(const Traffic::Collective& collective) const {
  Traffic first;
  first.communicators = {traffic_.communicators[collective.communicator]};
  first.collectives = {collective};
  first.collectives[0].communicator = 0;
  first.collectives[0].bytes =
      core::Bytes((collective.bytes.value() + collective.chunks - 1) / collective.chunks);
  first.collectives[0].chunks = 1;
  first.ranks.resize(traffic_.ranks.size());
  for (const int rank : first.communicators[0]) {
    first.ranks[static_cast<std::size_t>(rank)].push_back({Traffic::Do::issue, {}, 0});
  }
  const core::Time by_steps =
      Simulation(network_, first, {Granularity::steps, Folding::off}, 1).run().end;
  Simulation flowing(network_, first, {Granularity::steady, Folding::off}, 1);
  flowing.steady_.emplace(
      shape(first.collectives[0]),
      steady(
          schedule_of(first.collectives[0], static_cast<int>(first.communicators[0].size()), 1), 1,
          [&](int from, int to) {
            const auto& ranks = first.communicators[0];
            return flowing.way_id(ranks[static_cast<std::size_t>(from)],
                                  ranks[static_cast<std::size_t>(to)]);
          },
          nullptr, core::Time{}));
  const core::Time by_flow = flowing.run().end;
  return std::max(core::Time{}, by_steps - by_flow);
}

const SteadyCollective& Simulation::steady_of(const Traffic::Collective& collective) {
  const auto found = steady_.find(shape(collective));
  if (found != steady_.end()) return found->second;
  const auto& ranks = traffic_.communicators[collective.communicator];
  if (represents_ > 1) {
    const int rounds = collective.kind == CollectiveKind::all_reduce ? 2 : 1;
    const std::int64_t steps = std::int64_t{rounds} * (represents_ - 1);
    SteadyCollective one;
    one.edges = {{way_id(0, 0), collective.bytes.value() / represents_ * steps}};
    one.latency = latency(0, 0) * steps;
    one.members = 1;
    return steady_.emplace(shape(collective), std::move(one)).first->second;
  }
  const auto rank = [&](int member) { return ranks[static_cast<std::size_t>(member)]; };
  if (is_plain_ring(collective)) {
    return steady_
        .emplace(shape(collective),
                 steady_ring(
                     collective.kind, static_cast<int>(ranks.size()), collective.bytes,
                     [&](int from, int to) { return way_id(rank(from), rank(to)); },
                     [&](int from, int to) { return latency(rank(from), rank(to)); }))
        .first->second;
  }
  const core::Time fill = fills_a_pipeline(collective) ? fill_of(collective) : core::Time{};
  return steady_
      .emplace(shape(collective),
               steady(
                   schedule_of(collective, static_cast<int>(ranks.size()), collective.chunks), 1,
                   [&](int from, int to) { return way_id(rank(from), rank(to)); },
                   [&](int from, int to) { return latency(rank(from), rank(to)); }, fill))
      .first->second;
}

std::uint32_t Simulation::run_of(std::uint32_t collective) {
  std::uint32_t& index = runs_of_[collective];
  if (index != none) return index;
  if (free_runs_.empty()) {
    free_runs_.push_back(static_cast<std::uint32_t>(runs_.size()));
    runs_.push_back(std::make_unique<Run>());
  }
  index = free_runs_.back();
  free_runs_.pop_back();
  Run& run = *runs_[index];
  const Traffic::Collective& what = traffic_.collectives[collective];
  run.collective = collective;
  run.members_begun = 0;
  run.schedule = nullptr;
  run.steady = nullptr;
  if (options_.granularity == Granularity::steady) {
    run.steady = &steady_of(what);
    run.members_left = static_cast<std::uint32_t>(run.steady->members);
    return index;
  }
  run.schedule = &compiled(what);
  run.members_left = static_cast<std::uint32_t>(run.schedule->members());
  run.state.assign(run.schedule->steps.size(), 0);  // none for a ring
  run.lanes.assign(run.schedule->first_step.size(), {});
  run.steps_left = run.schedule->steps_of;
  return index;
}

void Simulation::handle(const Event& event) {
  if (FlowNetwork::owns(event)) {
    flows_.handle(
        event, [this](FlowNetwork::Token token) { on_arrived(token); },
        [this](FlowNetwork::Token token) { on_ended(token); });
    return;
  }
  if (event.kind() == compute_end) {
    advance(event.target());
    return;
  }
  Run& run = *runs_[event.target()];
  const auto members = static_cast<std::uint32_t>(run.steady->members);
  for (std::uint32_t member = 0; member < members; ++member) member_ended(run, member);
}

void Simulation::advance(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  const auto& operations = traffic_.ranks[rank];
  while (state.next < operations.size()) {
    const Traffic::Operation& operation = operations[state.next];
    if (operation.what == Traffic::Do::wait && !state.ended[operation.index]) {
      state.waits_for = operation.index;
      return;
    }
    ++state.next;
    if (operation.what == Traffic::Do::compute) {
      engine_.schedule(operation.duration, EventPhase::resumption, rank, compute_end);
      return;
    }
    if (operation.what == Traffic::Do::issue) {
      state.issued.push_back(operation.index);
      if (!state.in_collective) start_next_collective(rank);
    }
  }
  result_.compute_end[rank] = engine_.now();
  result_.rank_end[rank] = std::max(result_.rank_end[rank], engine_.now());
}

void Simulation::start_next_collective(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  if (state.current == state.issued.size()) return;
  const std::uint32_t collective = state.issued[state.current];
  const std::uint32_t communicator = traffic_.collectives[collective].communicator;
  const std::uint32_t member = positions_[communicator][rank];
  if (member == none) {
    throw core::InvariantError("rank " + std::to_string(rank) + " issues collective " +
                               std::to_string(collective) + " of communicator " +
                               std::to_string(communicator) + ", which it is no member of");
  }
  state.in_collective = true;
  const std::uint32_t index = run_of(collective);
  Run& run = *runs_[index];
  ++run.members_begun;
  if (run.schedule != nullptr) {
    begin_member(index, member);
  } else if (run.members_begun == run.steady->members) {
    begin_steady(index);
  }
}

void Simulation::member_ended(Run& run, std::uint32_t member) {
  const std::uint32_t collective = run.collective;
  const std::uint32_t communicator = traffic_.collectives[collective].communicator;
  const auto rank = static_cast<std::uint32_t>(traffic_.communicators[communicator][member]);
  result_.collective_end[collective] = engine_.now();
  if (--run.members_left == 0) {
    free_runs_.push_back(runs_of_[collective]);
    runs_of_[collective] = none;
  }
  RankState& state = ranks_[rank];
  ++state.current;
  state.in_collective = false;
  state.ended[collective] = true;
  result_.rank_end[rank] = std::max(result_.rank_end[rank], engine_.now());
  start_next_collective(rank);
  if (state.waits_for == collective) {
    state.waits_for = none;
    advance(rank);
  }
}

void Simulation::begin_member(std::uint32_t index, std::uint32_t member) {
  Run& run = *runs_[index];
  if (run.steps_left[member] == 0) {
    member_ended(run, member);
    return;
  }
  const std::uint32_t first = run.schedule->lane_begin[member];
  const std::uint32_t last = run.schedule->lane_begin[member + 1];
  for (std::uint32_t lane = first; lane < last; ++lane) {
    run.lanes[lane].current = run.schedule->first_step[lane];
  }
  const std::uint32_t collective = run.collective;
  for (std::uint32_t lane = first; lane < last && run.collective == collective; ++lane) {
    try_start(index, lane);
  }
}

void Simulation::try_start(std::uint32_t index, std::uint32_t lane_index) {
  Run& run = *runs_[index];
  Run::Lane& lane = run.lanes[lane_index];
  if (lane.current == none || lane.started) return;
  const CompiledSchedule& schedule = *run.schedule;
  if (schedule.ring) {
    lane.started = true;
    lane.sending = true;
    const std::uint32_t slice = schedule.sent_slice(lane_index, lane.step);
    lane.flow =
        flows_.start(schedule.ring->ways[lane_index], core::Bytes(schedule.ring->slices[slice]),
                     {index, lane_index}, FlowNetwork::Notice::arrival);
    if (lane.received > lane.step) try_end(index, lane_index);
    return;
  }
  const CompiledSchedule::Step& step = schedule.steps[lane.current];
  if (step.after != none && (run.state[step.after] & Run::ended) == 0) return;
  lane.started = true;
  lane.sending = step.way != none;
  if (lane.sending) {
    lane.flow = flows_.start(
        step.way, core::Bytes(step.bytes), {index, lane.current},
        step.receives ? FlowNetwork::Notice::arrival : FlowNetwork::Notice::end_and_arrival);
  }
  if (!lane.sending || (run.state[lane.current] & Run::arrived) != 0) try_end(index, lane_index);
}

/// Whether the data that the lane sends has left; if not, it will be told.
bool Simulation::has_sent(Run::Lane& lane) {
  if (!lane.sending) return true;
  if (!flows_.has_ended(lane.flow)) {
    flows_.ask_for_end(lane.flow);
    return false;
  }
  lane.sending = false;
  return true;
}

/// Ends the lane's step if it has received and its own data has left.
void Simulation::try_end(std::uint32_t index, std::uint32_t lane_index) {
  Run& run = *runs_[index];
  Run::Lane& lane = run.lanes[lane_index];
  const CompiledSchedule& schedule = *run.schedule;
  if (schedule.ring) {
    if (lane.received <= lane.step || !has_sent(lane)) return;
    lane.started = false;
    ++lane.step;
    if (lane.step < schedule.steps_of[0]) {
      try_start(index, lane_index);
    } else {
      lane.current = none;
      member_ended(run, lane_index);
    }
    return;
  }
  const std::uint32_t at = lane.current;
  const CompiledSchedule::Step& step = schedule.steps[at];
  if (step.receives && (run.state[at] & Run::arrived) == 0) return;
  if (!has_sent(lane)) return;
  run.state[at] |= Run::ended;
  lane.started = false;
  lane.current = step.next;
  const std::uint32_t member = schedule.member_of[lane_index];
  if (--run.steps_left[member] == 0) {
    member_ended(run, member);
    return;
  }
  const bool watched = step.watched;
  const std::uint32_t collective = run.collective;
  try_start(index, lane_index);
  if (!watched) return;
  const std::uint32_t last = schedule.lane_begin[member + 1];
  for (std::uint32_t other = schedule.lane_begin[member];
       other < last && run.collective == collective; ++other) {
    if (other != lane_index) try_start(index, other);
  }
}

/// A slice has come to the member after `sender`. What a member sends arrives in order.
void Simulation::on_slice(std::uint32_t index, std::uint32_t sender) {
  Run& run = *runs_[index];
  const auto size = static_cast<std::uint32_t>(run.lanes.size());
  const std::uint32_t receiver = sender + 1 == size ? 0 : sender + 1;
  const std::uint32_t arrived = ++run.lanes[receiver].received;
  Run::Lane& from = run.lanes[sender];
  // The flow is gone: its sender must not ask for it any more.
  if (from.started && from.sending && from.step + 1 == arrived) {
    from.sending = false;
    if (sender != receiver) try_end(index, sender);
  }
  if (run.lanes[receiver].started) try_end(index, receiver);
}

void Simulation::on_arrived(FlowNetwork::Token token) {
  Run& run = *runs_[token.owner];
  if (run.schedule->ring) {
    on_slice(token.owner, token.item);
    return;
  }
  const CompiledSchedule::Step& sent = run.schedule->steps[token.item];
  Run::Lane& sender = run.lanes[sent.lane];
  const std::uint32_t peer = sent.peer;
  // The flow is gone: its sender must not ask for it any more.
  const bool frees_sender = sender.current == token.item && sender.started && sender.sending;
  if (frees_sender) sender.sending = false;
  run.state[peer] |= Run::arrived;
  const std::uint32_t lane = run.schedule->steps[peer].lane;
  const bool to_itself = lane == sent.lane;
  if (frees_sender && !to_itself) try_end(token.owner, sent.lane);
  if (run.lanes[lane].current == peer && run.lanes[lane].started) try_end(token.owner, lane);
}

void Simulation::on_ended(FlowNetwork::Token token) {
  Run& run = *runs_[token.owner];
  if (run.steady != nullptr) {
    if (--run.edges_left == 0) {
      engine_.schedule(run.steady->latency, EventPhase::completion, token.owner, collective_end);
    }
    return;
  }
  const std::uint32_t lane = run.schedule->ring ? token.item : run.schedule->steps[token.item].lane;
  if (!run.lanes[lane].started || !run.lanes[lane].sending) return;
  if (!run.schedule->ring && run.lanes[lane].current != token.item) return;
  run.lanes[lane].sending = false;
  try_end(token.owner, lane);
}

void Simulation::begin_steady(std::uint32_t index) {
  Run& run = *runs_[index];
  run.edges_left = run.steady->edges.size();
  if (run.edges_left == 0) {
    engine_.schedule(run.steady->latency, EventPhase::completion, index, collective_end);
    return;
  }
  for (std::size_t edge = 0; edge < run.steady->edges.size(); ++edge) {
    flows_.start(run.steady->edges[edge].way, core::Bytes(run.steady->edges[edge].bytes),
                 {index, static_cast<std::uint32_t>(edge)}, FlowNetwork::Notice::end);
  }
}

}  // namespace

TrafficNetwork star_network(int ranks, core::ByteRate rate, core::Time latency) {
  TrafficNetwork network;
  network.capacity.assign(2 * static_cast<std::size_t>(ranks), rate);
  network.way = [latency](int from, int to) {
    return TrafficNetwork::Way{
        {2 * static_cast<std::uint32_t>(from), 2 * static_cast<std::uint32_t>(to) + 1},
        latency * 2};
  };
  return network;
}

TrafficNetwork network_of(const DeviceRoutes& routes,
                          const std::function<core::ByteRate(DirectedLink)>& capacity) {
  TrafficNetwork network;
  const auto& links = routes.cluster().links;
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (std::uint32_t direction = 0; direction < 2; ++direction) {
      const auto link = static_cast<DirectedLink>(2 * i + direction);
      network.capacity.push_back(capacity ? capacity(link) : links[i].bandwidth);
    }
  }
  network.way = [&routes](int from, int to) {
    const Way way = routes.way(from, to);
    return TrafficNetwork::Way{way.links, way.latency};
  };
  return network;
}

bool foldable(const TrafficNetwork& network, const Traffic& traffic) {
  const std::size_t ranks = traffic.ranks.size();
  if (ranks < 2 || traffic.collectives.empty()) return false;
  for (const auto& operations : traffic.ranks) {
    const auto same = [](const Traffic::Operation& a, const Traffic::Operation& b) {
      return a.what == b.what && a.duration == b.duration && a.index == b.index;
    };
    if (!std::equal(operations.begin(), operations.end(), traffic.ranks[0].begin(),
                    traffic.ranks[0].end(), same)) {
      return false;
    }
  }
  for (const Traffic::Collective& collective : traffic.collectives) {
    if (collective.algorithm != CollectiveAlgorithm::ring ||
        collective.kind == CollectiveKind::broadcast ||
        collective.bytes.value() % static_cast<std::int64_t>(ranks) != 0) {
      return false;
    }
  }
  std::vector<core::ByteRate> rates;  // along the way of the first edge
  core::Time latency;
  for (const auto& members : traffic.communicators) {
    if (members.size() != ranks) return false;
    std::unordered_set<std::uint32_t> used;
    for (std::size_t i = 0; i < ranks; ++i) {
      const auto way = network.way(members[i], members[(i + 1) % ranks]);
      std::vector<core::ByteRate> own;
      for (const std::uint32_t link : way.links) {
        if (!used.insert(link).second) return false;
        own.push_back(network.capacity[link]);
      }
      if (rates.empty()) {
        rates = own;
        latency = way.latency;
      }
      if (own != rates || way.latency != latency) return false;
    }
  }
  return true;
}

TrafficResult simulate_traffic(const TrafficNetwork& network, const Traffic& traffic,
                               TrafficOptions options) {
  if (options.folding == Folding::off || !foldable(network, traffic)) {
    return Simulation(network, traffic, options, 1).run();
  }
  const auto ranks = traffic.ranks.size();
  const auto& members = traffic.communicators[0];
  const auto edge = network.way(members[0], members[1]);
  TrafficNetwork one;
  TrafficNetwork::Way way;
  way.latency = edge.latency;
  for (const std::uint32_t link : edge.links) {
    way.links.push_back(static_cast<std::uint32_t>(one.capacity.size()));
    one.capacity.push_back(network.capacity[link]);
  }
  one.way = [way](int /*from*/, int /*to*/) { return way; };
  Traffic of_one;
  of_one.communicators.assign(traffic.communicators.size(), {0});
  of_one.collectives = traffic.collectives;
  of_one.ranks = {traffic.ranks[0]};
  TrafficResult result = Simulation(one, of_one, options, static_cast<int>(ranks)).run();
  result.rank_end.assign(ranks, result.rank_end[0]);
  result.compute_end.assign(ranks, result.compute_end[0]);
  result.flows *= ranks;
  result.bytes *= static_cast<std::int64_t>(ranks);
  result.folded = true;
  return result;
}

}  // namespace paceline::sim
