#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/quantity.hpp"
#include "core/rates.hpp"
#include "core/time.hpp"
#include "sim/engine/engine.hpp"
#include "sim/sharing/max_min.hpp"

namespace paceline::sim {

/// Cut-through flows over links: a flow of b bytes at rate r occupies all links of its way for
/// b / r; its last byte arrives the way's latency later. Rates are max-min fair and change when a
/// flow that shares a link starts or ends; those that start or end at one instant count together.
/// A flow whose rate never changes arrives at start + ⌈b / r⌉ + latency, in picoseconds: it rounds
/// up once. After a change the rest is divided by the new rate and rounded up.
///
/// Events: one a flow where nobody shares its links, else two and one for each change of its rate.
class FlowNetwork {
 public:
  using WayId = std::uint32_t;
  using Flow = std::uint32_t;
  /// Whose flow it is, as the owner knows it.
  struct Token {
    std::uint32_t owner = 0;
    std::uint32_t item = 0;
  };
  enum class Notice : std::uint8_t {
    arrival,          // of the last byte
    end_and_arrival,  // also when it has left
    end               // only then: the way's latency is the owner's affair
  };

  /// The top byte of an event's kind says that it is for the network.
  static constexpr std::uint32_t event_tag = 0x40000000;
  [[nodiscard]] static bool owns(const Event& event) { return (event.kind() & event_tag) != 0; }

  explicit FlowNetwork(Engine& engine) : engine_(engine) {}

  MaxMin::Resource add_link(core::ByteRate capacity) {
    return sharing_.add_resource(capacity.value());
  }
  /// Throws `core::InvariantError` if a link stands in it twice, or none.
  WayId add_way(std::span<const MaxMin::Resource> links, core::Time latency);

  Flow start(WayId way, core::Bytes bytes, Token token, Notice notice);
  /// Whether its last byte has left; only before its arrival was handed out.
  [[nodiscard]] bool has_ended(Flow flow) const {
    const State& state = flows_[flow];
    return state.stage != Stage::moving || (state.lazy && state.end <= engine_.now());
  }
  /// Also tells when its last byte has left. Only while it has not.
  void ask_for_end(Flow flow);

  /// Handles an event of the network; calls `arrived(Token)` and `ended(Token)`.
  template <class Arrived, class Ended>
  void handle(const Event& event, Arrived&& arrived, Ended&& ended);

  [[nodiscard]] std::uint64_t flows_started() const { return flows_started_; }
  /// Bytes of arrived flows.
  [[nodiscard]] std::int64_t bytes_arrived() const { return bytes_arrived_; }
  [[nodiscard]] const MaxMin& sharing() const { return sharing_; }

 private:
  enum class Stage : std::uint8_t { moving, under_way, free };
  enum class What : std::uint32_t { end, arrival, settle };
  struct State {
    double left = 0;  // bytes
    double rate = 0;
    core::Time since;  // of `left`
    core::Time end;
    std::int64_t bytes = 0;
    Token token;
    WayId way = 0;
    std::uint32_t generation = 0;
    Stage stage = Stage::free;
    bool lazy = false;  // no event at its end, only at its arrival
    Notice notice = Notice::arrival;
  };

  [[nodiscard]] static std::uint32_t kind(What what, std::uint32_t generation) {
    return event_tag | static_cast<std::uint32_t>(what) << 24 | (generation & 0xffffff);
  }
  void release(Flow flow) {
    State& state = flows_[flow];
    bytes_arrived_ += state.bytes;
    state.stage = Stage::free;
    ++state.generation;
    free_.push_back(flow);
  }
  void make_room(WayId way);
  void plan_end(Flow flow);
  void settle_rates();
  void settle_soon();
  [[nodiscard]] Flow new_flow();

  Engine& engine_;
  MaxMin sharing_;
  std::vector<core::Time> latency_;  // by way
  std::vector<State> flows_;
  std::vector<Flow> free_;
  std::vector<Flow> ended_;  // scratch
  bool settle_is_planned_ = false;
  // Most transfers are like the one before.
  core::Bytes last_bytes_{-1};
  double last_rate_ = 0;
  core::Time last_duration_;
  std::uint64_t flows_started_ = 0;
  std::int64_t bytes_arrived_ = 0;
};

template <class Arrived, class Ended>
void FlowNetwork::handle(const Event& event, Arrived&& arrived, Ended&& ended) {
  const auto what = static_cast<What>(event.kind() >> 24 & 0xf);
  if (what == What::settle) {
    settle_rates();
    return;
  }
  const Flow flow = event.target();
  State& state = flows_[flow];
  if (state.stage == Stage::free || (state.generation & 0xffffff) != (event.kind() & 0xffffff)) {
    return;
  }
  if (state.stage == Stage::moving) {
    state.stage = Stage::under_way;
    sharing_.stop(flow);
    settle_soon();
    if (what == What::end) {
      const Token token = state.token;
      const Notice notice = state.notice;
      if (notice == Notice::end) {
        release(flow);
      } else {
        engine_.schedule(latency_[state.way], EventPhase::completion, flow,
                         kind(What::arrival, state.generation));
      }
      if (notice != Notice::arrival) ended(token);
      return;
    }
  }
  const Token token = state.token;
  release(flow);
  arrived(token);
}

}  // namespace paceline::sim
