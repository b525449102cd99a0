#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/quantity.hpp"
#include "core/time.hpp"
#include "models/schedules/schedule.hpp"
#include "sim/network/flow_network.hpp"

namespace paceline::sim {

/// The way from one member of a communicator to another.
using WayOf = std::function<FlowNetwork::WayId(int from_member, int to_member)>;

/// A schedule as the network executes it: for each step what it sends over which way, and which
/// step of the receiver takes it. Steps are laid out by their number in the member, then by member:
/// members that keep step walk through memory together.
struct CompiledSchedule {
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Step {
    std::int64_t bytes = 0;
    FlowNetwork::WayId way = none;  // none: sends nothing
    std::uint32_t peer = none;      // the step that receives what this one sends
    std::uint32_t next = none;      // of the same lane
    std::uint32_t lane = 0;         // counted over all members
    std::uint32_t after = none;
    bool receives = false;
    bool watched = false;  // some step comes `after` it
  };
  static_assert(sizeof(bool) == 1);

  /// A ring needs no table: the steps of its members are told from these.
  struct Ring {
    core::CollectiveKind kind{};
    std::vector<FlowNetwork::WayId> ways;  // from each member to the next
    std::vector<std::int64_t> slices;      // bytes
  };

  std::vector<Step> steps;  // empty for a ring
  std::optional<Ring> ring;
  std::vector<std::uint32_t> first_step;  // by lane
  std::vector<std::uint32_t> lane_begin;  // by member: its lanes, and one more
  std::vector<std::uint32_t> steps_of;    // by member
  std::vector<std::uint32_t> member_of;   // by lane

  [[nodiscard]] std::size_t members() const { return steps_of.size(); }
  [[nodiscard]] std::size_t step_count() const;
  [[nodiscard]] Step step(std::size_t index) const;
  /// Of a ring: the slice that a member sends in its step. Throws `core::InvariantError` for
  /// others.
  [[nodiscard]] std::uint32_t sent_slice(std::uint32_t member, std::uint32_t step) const {
    if (!ring) throw core::InvariantError("a schedule that is no ring has no slices");
    const auto size = static_cast<std::uint32_t>(ring->slices.size());
    std::uint32_t back = step;  // member − back
    if (ring->kind == core::CollectiveKind::all_reduce && step + 1 >= size) back = step - size;
    if (ring->kind == core::CollectiveKind::reduce_scatter) back = step + 1;
    const std::uint32_t slice = member - back;  // wraps below 0
    return slice < size ? slice : slice + size < size ? slice + size : slice - size;
  }
};

/// Throws `core::InvariantError` if a send has no receive or the other way round.
[[nodiscard]] CompiledSchedule compile(const models::Schedule& schedule, std::int64_t element_bytes,
                                       const WayOf& way_of);

/// `compile` of `models::make_schedule(kind, ring, members, bytes)` for all_reduce, reduce_scatter
/// and all_gather, without the schedule's memory.
[[nodiscard]] CompiledSchedule compile_ring(core::CollectiveKind kind, int members,
                                            core::Bytes bytes, const WayOf& way_of);

/// A ring over `members` equal members with equal slices and ways, told by one: it sends to itself.
[[nodiscard]] CompiledSchedule folded_ring(core::CollectiveKind kind, int members,
                                           core::Bytes bytes, FlowNetwork::WayId way);

/// The same collective as one flow for each edge, all at once, and a time that no rate shortens.
struct SteadyCollective {
  struct Edge {
    FlowNetwork::WayId way = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Edge> edges;
  core::Time latency;
  std::size_t members = 0;
};

/// `latency_of(from, to)` is the latency of a way. Ring: the greatest sum over as many consecutive
/// edges as there are steps. Halving and doubling, pairwise and hierarchical: Σ over steps of the
/// greatest latency of that step. Tree: `fill`, what its first chunk takes.
/// `steady` of a ring as in `compile_ring`.
[[nodiscard]] SteadyCollective steady_ring(core::CollectiveKind kind, int members,
                                           core::Bytes bytes, const WayOf& way_of,
                                           const std::function<core::Time(int, int)>& latency_of);

[[nodiscard]] SteadyCollective steady(const models::Schedule& schedule, std::int64_t element_bytes,
                                      const WayOf& way_of,
                                      const std::function<core::Time(int, int)>& latency_of,
                                      core::Time fill);

}  // namespace paceline::sim
