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
  poll,        // a look that does not wait comes after them: what was posted at this instant counts
  sharing      // rates are settled last, when all that starts or ends at this instant has
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

 private:
  core::Time time_;
  std::uint64_t order_ = 0;
  std::uint32_t target_ = 0;
  std::uint32_t kind_ = 0;
};
static_assert(sizeof(Event) == 24);

/// Events by (time, phase, sequence): at one instant by phase, within a phase in the order in which
/// they were pushed. Allocates only beyond `reserve`.
///
/// Events pushed one after the other for the same instant and phase form a run; the heap orders
/// runs, so that a thousand members that act at once cost one step of the heap. No run is ever
/// continued after another began, so all events of a run come before all of any later run of its
/// instant. The heap has four children a node, which is shallower than a binary one and looks at
/// neighbours in one cache line (LaMarca and Ladner 1996).
class EventQueue {
 public:
  void reserve(std::size_t events) {
    heap_.reserve(events);
    items_.reserve(events);
  }

  void push(core::Time time, EventPhase phase, std::uint32_t target, std::uint32_t kind);
  /// Removes and returns the first event. Throws `core::InvariantError` if there is none.
  Event pop();

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Item {
    std::uint32_t target = 0;
    std::uint32_t kind = 0;
    std::uint32_t next = none;  // of the run, or of the free ones
  };
  struct Run {
    core::Time time;
    std::uint64_t order = 0;  // of its first event
    std::uint32_t first = none;

    [[nodiscard]] bool before(const Run& other) const {
      return time != other.time ? time < other.time : order < other.order;
    }
  };

  [[nodiscard]] std::uint32_t new_item(std::uint32_t target, std::uint32_t kind);
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  std::vector<Run> heap_;
  std::vector<Item> items_;
  std::uint32_t free_ = none;
  std::uint32_t last_ = none;  // item pushed last, if it is still there
  core::Time last_time_;
  EventPhase last_phase_{};
  std::size_t size_ = 0;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace paceline::sim
