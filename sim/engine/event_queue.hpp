#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.hpp"

namespace paceline::sim {

/// Order of events at one instant, first to last.
enum class EventPhase : std::uint8_t {
  completion,  // work that ends now frees its core and posts its messages first, so that everyone
               // who acts at this instant sees them
  resumption,  // then those who waited for these messages go on
  poll         // a look that does not wait comes last: what was posted at this instant counts
};

/// Something that happens to `target` at `time`; what, the target's owner knows from `kind`.
/// Plain data: 24 bytes.
class Event {
 public:
  Event() = default;
  Event(core::Time time, EventPhase phase, std::uint64_t sequence, std::uint32_t target,
        std::uint32_t kind)
      : time_(time),
        order_(static_cast<std::uint64_t>(phase) << sequence_bits | sequence),
        target_(target),
        kind_(kind) {}

  static constexpr int sequence_bits = 56;

  [[nodiscard]] core::Time time() const { return time_; }
  [[nodiscard]] EventPhase phase() const {
    return static_cast<EventPhase>(order_ >> sequence_bits);
  }
  /// Phase, then sequence.
  [[nodiscard]] std::uint64_t order() const { return order_; }
  [[nodiscard]] std::uint32_t target() const { return target_; }
  [[nodiscard]] std::uint32_t kind() const { return kind_; }

  [[nodiscard]] bool before(const Event& other) const {
    return time_ != other.time_ ? time_ < other.time_ : order_ < other.order_;
  }

 private:
  core::Time time_;
  std::uint64_t order_ = 0;
  std::uint32_t target_ = 0;
  std::uint32_t kind_ = 0;
};
static_assert(sizeof(Event) == 24);

/// Events by (time, phase, sequence): at one instant by phase, within a phase in the order in which
/// they were pushed. A heap of four children a node, which is shallower than a binary one and looks
/// at neighbours in one cache line (LaMarca and Ladner 1996). Allocates only beyond `reserve`.
class EventQueue {
 public:
  void reserve(std::size_t events) { heap_.reserve(events); }

  void push(core::Time time, EventPhase phase, std::uint32_t target, std::uint32_t kind);
  /// Removes and returns the first event. Throws `core::InvariantError` if there is none.
  Event pop();

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }

 private:
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Event> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace paceline::sim
