#pragma once

#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "sim/engine/event_queue.hpp"

namespace paceline::sim {

/// Simulated time and what happens in it. One object, handed to whoever schedules; nothing global.
class Engine {
 public:
  /// Room for events that wait at once; the loop does not allocate within it.
  explicit Engine(std::size_t events) { queue_.reserve(events); }

  [[nodiscard]] core::Time now() const { return now_; }

  /// Schedules an event `delay` from now; at one instant the phases of `EventPhase` hold, within a
  /// phase first scheduled is first served. Throws `core::InvariantError` if `delay` is negative,
  /// `core::RunError` if the event would lie beyond `core::time_limit`.
  void schedule(core::Time delay, EventPhase phase, std::uint32_t target, std::uint32_t kind);

  /// Hands every event to `handle(const Event&)` in order, until none is left or `stop` was called.
  template <class Handler>
  void run(Handler&& handle) {
    stopped_ = false;
    while (!stopped_ && !queue_.empty()) {
      const Event event = queue_.pop();
      begin(event);
      handle(event);
    }
  }

  /// The running event is the last one.
  void stop() { stopped_ = true; }

  [[nodiscard]] std::uint64_t events_handled() const { return events_handled_; }
  /// A hash of every event handled, in order: equal for equal runs, bit by bit.
  [[nodiscard]] std::uint64_t event_log_hash() const { return hash_; }

 private:
  void begin(const Event& event);

  EventQueue queue_;
  core::Time now_;
  bool stopped_ = false;
  std::uint64_t events_handled_ = 0;
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace paceline::sim
