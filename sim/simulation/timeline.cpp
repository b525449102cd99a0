#include "sim/simulation/timeline.hpp"

#include <string>

#include "core/error.hpp"

namespace paceline::sim {

Timeline::Timeline(std::uint32_t steps, std::size_t segments, Keep keep) : keep_(keep) {
  ends_.reserve(steps);
  phases_.reserve(steps + 1);
  phases_.emplace_back();
  if (keep_ == Keep::segments) segments_.reserve(segments);
}

void Timeline::add(Activity activity, core::TimelinePhase phase, std::uint32_t operation,
                   std::uint32_t ring_step, core::Time end) {
  if (end < now_) {
    throw core::InvariantError("a segment ends at " + std::to_string(end.ps()) +
                               " ps, before the one before it (" + std::to_string(now_.ps()) +
                               " ps)");
  }
  if (end == now_) return;
  phases_.back()[phase] += end - now_;
  if (keep_ == Keep::segments) {
    segments_.push_back({.begin = now_,
                         .end = end,
                         .step = steps(),
                         .operation = operation,
                         .ring_step = ring_step,
                         .activity = activity,
                         .phase = phase});
  }
  now_ = end;
}

void Timeline::end_step() {
  ends_.push_back(now_);
  phases_.emplace_back();
}

}  // namespace paceline::sim
