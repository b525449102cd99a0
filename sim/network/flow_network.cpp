#include "sim/network/flow_network.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace paceline::sim {

FlowNetwork::WayId FlowNetwork::add_way(std::span<const MaxMin::Resource> links,
                                        core::Time latency) {
  std::vector<MaxMin::Use> uses;
  for (const MaxMin::Resource link : links) {
    for (const MaxMin::Use& before : uses) {
      if (before.resource == link) {
        throw core::InvariantError("a way crosses link " + std::to_string(link) +
                                   " twice (a flow would share it with itself)");
      }
    }
    uses.push_back({link, 1.0});
  }
  if (uses.empty()) throw core::InvariantError("a way has no link (its flows would have no rate)");
  latency_.push_back(latency);
  return sharing_.add_pattern(uses);
}

FlowNetwork::Flow FlowNetwork::new_flow() {
  if (free_.empty()) {
    flows_.emplace_back();
    return static_cast<Flow>(flows_.size() - 1);
  }
  const Flow flow = free_.back();
  free_.pop_back();
  return flow;
}

/// Flows without an event at their end leave their links when somebody else comes, or get one.
void FlowNetwork::make_room(WayId way) {
  for (const MaxMin::Use& use : sharing_.uses(way)) {
    const auto& users = sharing_.users(use.resource);
    if (users.empty()) continue;
    ended_.clear();
    for (const Flow user : users) {
      if (!flows_[user].lazy) continue;
      if (flows_[user].end <= engine_.now()) {
        ended_.push_back(user);
      } else {
        plan_end(user);
      }
    }
    for (const Flow user : ended_) {
      flows_[user].stage = Stage::under_way;
      sharing_.stop(user);
    }
  }
}

FlowNetwork::Flow FlowNetwork::start(WayId way, core::Bytes bytes, Token token, Notice notice) {
  make_room(way);
  const Flow flow = new_flow();
  State& state = flows_[flow];
  state.left = static_cast<double>(bytes.value());
  state.bytes = bytes.value();
  state.since = engine_.now();
  state.token = token;
  state.way = way;
  state.stage = Stage::moving;
  state.notice = notice;
  state.rate = sharing_.start(flow, way);
  ++flows_started_;
  if (state.rate > 0) {
    if (bytes != last_bytes_ || state.rate != last_rate_) {
      last_bytes_ = bytes;
      last_rate_ = state.rate;
      last_duration_ = core::transfer_time(bytes, core::ByteRate(state.rate));
    }
    const core::Time duration = last_duration_;
    state.end = engine_.now() + duration;
    state.lazy = notice == Notice::arrival;
    engine_.schedule(state.lazy ? duration + latency_[way] : duration, EventPhase::completion, flow,
                     kind(state.lazy ? What::arrival : What::end, state.generation));
  } else {
    state.lazy = false;
    state.end = core::time_limit;
    settle_soon();
  }
  return flow;
}

void FlowNetwork::plan_end(Flow flow) {
  State& state = flows_[flow];
  ++state.generation;
  state.lazy = false;
  engine_.schedule(state.end - engine_.now(), EventPhase::completion, flow,
                   kind(What::end, state.generation));
}

void FlowNetwork::ask_for_end(Flow flow) {
  State& state = flows_[flow];
  state.notice = Notice::end_and_arrival;
  if (state.lazy) plan_end(flow);
}

void FlowNetwork::settle_soon() {
  if (settle_is_planned_ || !sharing_.has_changes()) return;
  settle_is_planned_ = true;
  engine_.schedule(core::Time{}, EventPhase::sharing, 0, kind(What::settle, 0));
}

void FlowNetwork::settle_rates() {
  settle_is_planned_ = false;
  const core::Time now = engine_.now();
  for (const Flow flow : sharing_.settle()) {
    State& state = flows_[flow];
    state.left = std::max(0.0, state.left - state.rate * (now - state.since).seconds());
    state.since = now;
    state.rate = sharing_.rate(flow);
    state.end = now + core::Time::from_seconds(state.left / state.rate);
    plan_end(flow);
  }
}

}  // namespace paceline::sim
