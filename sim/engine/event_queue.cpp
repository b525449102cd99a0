#include "sim/engine/event_queue.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

constexpr std::size_t children = 4;

}  // namespace

void EventQueue::push(core::Time time, EventPhase phase, std::uint32_t target, std::uint32_t kind) {
  heap_.emplace_back(time, phase, next_sequence_++, target, kind);
  sift_up(heap_.size() - 1);
}

Event EventQueue::pop() {
  if (heap_.empty()) throw core::InvariantError("an event was taken from an empty queue");
  const Event first = heap_.front();
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
  return first;
}

void EventQueue::sift_up(std::size_t index) {
  const Event moved = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / children;
    if (!moved.before(heap_[parent])) break;
    heap_[index] = heap_[parent];
    index = parent;
  }
  heap_[index] = moved;
}

void EventQueue::sift_down(std::size_t index) {
  const Event moved = heap_[index];
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
