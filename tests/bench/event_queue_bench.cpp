#include <benchmark/benchmark.h>

#include <array>
#include <functional>
#include <queue>
#include <vector>

#include "sim/engine/event_queue.hpp"

// The hold model (Jones 1986): with so many events pending, take the first and put one in at a
// random time after it.
namespace paceline::sim {
namespace {

/// xorshift64*: the same times for both, at no cost worth mentioning.
class Delays {
 public:
  core::Time next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return core::Time::from_ps(static_cast<std::int64_t>((state_ * 0x2545F4914F6CDD1DULL) >> 34));
  }

 private:
  std::uint64_t state_ = 88172645463325252ULL;
};

void hold_event_queue(benchmark::State& state) {
  EventQueue queue;
  const auto pending = static_cast<std::size_t>(state.range(0));
  queue.reserve(pending + 1);
  Delays delays;
  std::uint64_t handled = 0;
  for (std::size_t i = 0; i < pending; ++i) {
    queue.push(delays.next(), EventPhase::completion, static_cast<std::uint32_t>(i), 0);
  }
  for (auto _ : state) {
    const Event event = queue.pop();
    handled += event.target();
    queue.push(event.time() + delays.next(), EventPhase::completion, event.target(), 0);
  }
  benchmark::DoNotOptimize(handled);
}
BENCHMARK(hold_event_queue)->Arg(1000)->Arg(100000);

struct NaiveEvent {
  core::Time time;
  std::uint64_t sequence = 0;
  std::function<void()> run;
};
struct Later {
  bool operator()(const NaiveEvent& a, const NaiveEvent& b) const {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
};

/// std::priority_queue of std::function with a capture of 32 bytes.
void hold_priority_queue_of_functions(benchmark::State& state) {
  std::priority_queue<NaiveEvent, std::vector<NaiveEvent>, Later> queue;
  const auto pending = static_cast<std::size_t>(state.range(0));
  Delays delays;
  std::uint64_t sequence = 0;
  std::uint64_t handled = 0;
  const auto push = [&](core::Time time, std::uint64_t target) {
    const std::array<std::uint64_t, 3> payload{target, sequence, 1};
    std::uint64_t* const sum = &handled;
    auto run = [payload, sum] { *sum += payload[0]; };
    static_assert(sizeof(run) == 32);
    queue.push({time, sequence++, run});
  };
  for (std::size_t i = 0; i < pending; ++i) push(delays.next(), i);
  for (auto _ : state) {
    NaiveEvent event = queue.top();
    queue.pop();
    event.run();
    push(event.time + delays.next(), 1);
  }
  benchmark::DoNotOptimize(handled);
}
BENCHMARK(hold_priority_queue_of_functions)->Arg(1000)->Arg(100000);

}  // namespace
}  // namespace paceline::sim
