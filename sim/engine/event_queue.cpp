#include "sim/engine/event_queue.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

constexpr std::size_t children = 4;

}  // namespace

std::uint32_t EventQueue::new_item(std::uint32_t target, std::uint32_t kind) {
  if (free_ == none) {
    items_.push_back({target, kind, none});
    return static_cast<std::uint32_t>(items_.size() - 1);
  }
  const std::uint32_t item = free_;
  free_ = items_[item].next;
  items_[item] = {target, kind, none};
  return item;
}

void EventQueue::push(core::Time time, EventPhase phase, std::uint32_t target, std::uint32_t kind) {
  const std::uint64_t order =
      static_cast<std::uint64_t>(phase) << Event::sequence_bits | next_sequence_++;
  const std::uint32_t item = new_item(target, kind);
  ++size_;
  const bool continues = last_ != none && last_time_ == time && last_phase_ == phase;
  if (continues) {
    items_[last_].next = item;
  } else {
    heap_.push_back({time, order, item});
    sift_up(heap_.size() - 1);
  }
  last_ = item;
  last_time_ = time;
  last_phase_ = phase;
}

Event EventQueue::pop() {
  if (size_ == 0) throw core::InvariantError("an event was taken from an empty queue");
  Run& run = heap_.front();
  const std::uint32_t taken = run.first;
  Item& item = items_[taken];
  const std::uint64_t phase_part = run.order >> Event::sequence_bits;
  const Event event(run.time, static_cast<EventPhase>(phase_part),
                    run.order & ((std::uint64_t{1} << Event::sequence_bits) - 1), item.target,
                    item.kind);
  --size_;
  if (item.next != none) {
    run.first = item.next;  // stays first: nobody lies between two events of a run
    ++run.order;
  } else {
    heap_.front() = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(0);
  }
  if (last_ == taken) last_ = none;
  item.next = free_;
  free_ = taken;
  return event;
}

void EventQueue::sift_up(std::size_t index) {
  const Run moved = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / children;
    if (!moved.before(heap_[parent])) break;
    heap_[index] = heap_[parent];
    index = parent;
  }
  heap_[index] = moved;
}

void EventQueue::sift_down(std::size_t index) {
  const Run moved = heap_[index];
  for (;;) {
    const std::size_t begin = children * index + 1;
    if (begin >= heap_.size()) break;
    const std::size_t end = std::min(begin + children, heap_.size());
    std::size_t first = begin;
    for (std::size_t child = begin + 1; child < end; ++child) {
      if (heap_[child].before(heap_[first])) first = child;
    }
    if (!heap_[first].before(moved)) break;
    heap_[index] = heap_[first];
    index = first;
  }
  heap_[index] = moved;
}

}  // namespace paceline::sim
