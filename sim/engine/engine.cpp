#include "sim/engine/engine.hpp"

#include <string>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

/// One round of a multiplicative hash (Knuth 6.4): every bit of the value reaches the result.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  hash = (hash ^ value) * odd;
  return hash ^ (hash >> 32);
}

}  // namespace

void Engine::schedule(core::Time delay, EventPhase phase, std::uint32_t target,
                      std::uint32_t kind) {
  if (delay < core::Time{}) {
    throw core::InvariantError("an event was scheduled " + std::to_string(delay.ps()) +
                               " ps from now (must not be in the past)");
  }
  if (delay > core::time_limit - now_) {
    throw core::RunError("simulated time reached " + std::to_string(now_.seconds()) + " s and " +
                         std::to_string(delay.seconds()) +
                         " s more (simulated time ends at 100 days): look for a rate that is far "
                         "too low in the cluster file");
  }
  queue_.push(now_ + delay, phase, target, kind);
}

void Engine::begin(const Event& event) {
  if (event.time() < now_) {
    throw core::InvariantError("an event of " + std::to_string(event.time().ps()) +
                               " ps came after " + std::to_string(now_.ps()) + " ps");
  }
  now_ = event.time();
  ++events_handled_;
  hash_ = mixed(hash_, static_cast<std::uint64_t>(event.time().ps()));
  hash_ = mixed(hash_, event.order());
  hash_ = mixed(hash_, std::uint64_t{event.target()} << 32 | event.kind());
}

}  // namespace paceline::sim
