#include <benchmark/benchmark.h>

#include <numeric>

#include "core/rates.hpp"
#include "naive_network.hpp"
#include "sim/network/traffic_simulation.hpp"

// Traffic on a star of 50 GiB/s cables with 0.5 us each, as other simulators were measured.
namespace paceline::sim {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;

constexpr core::ByteRate cable_rate(50.0 * 1024 * 1024 * 1024);
constexpr core::Time cable_latency = core::Time::from_ps(500'000);

Traffic all_of(int ranks) {
  Traffic traffic;
  traffic.communicators.resize(1);
  traffic.communicators[0].resize(static_cast<std::size_t>(ranks));
  std::iota(traffic.communicators[0].begin(), traffic.communicators[0].end(), 0);
  traffic.ranks.resize(static_cast<std::size_t>(ranks));
  return traffic;
}

void report(benchmark::State& state, const TrafficResult& result) {
  state.counters["simulated_us"] = result.end.us();
  state.counters["flows"] = static_cast<double>(result.flows);
  state.counters["ns_per_flow"] = benchmark::Counter(
      static_cast<double>(result.flows) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// One all-reduce of 100 MiB by ring, step by step, unfolded.
void ring_100_mib(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  Traffic traffic = all_of(ranks);
  traffic.collectives = {
      {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, core::mib(100)}};
  for (auto& rank : traffic.ranks) rank = {{Traffic::Do::issue, {}, 0}};
  TrafficResult result;
  for (auto _ : state) {
    result = simulate_traffic(star_network(ranks, cable_rate, cable_latency), traffic,
                              {Granularity::steps, Folding::off});
  }
  report(state, result);
}
BENCHMARK(ring_100_mib)->RangeMultiplier(2)->Range(64, 1024)->Unit(benchmark::kMillisecond);

/// The same by the naive reference.
void naive_ring_100_mib(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        naive_ring_all_reduce(ranks, core::mib(100), cable_rate, cable_latency * 2));
  }
}
BENCHMARK(naive_ring_100_mib)->Arg(16)->Arg(32)->Arg(64)->Unit(benchmark::kMillisecond);

/// 24 × [1 ms compute, then an all-reduce of 50 MiB that the next compute does not wait for].
void step_of_24_layers(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  Traffic traffic = all_of(ranks);
  for (std::uint32_t layer = 0; layer < 24; ++layer) {
    traffic.collectives.push_back(
        {0, CollectiveKind::all_reduce, CollectiveAlgorithm::ring, core::mib(50)});
    for (auto& rank : traffic.ranks) {
      rank.push_back({Traffic::Do::compute, core::Time::from_us(1000), 0});
      rank.push_back({Traffic::Do::issue, {}, layer});
    }
  }
  TrafficResult result;
  for (auto _ : state) {
    result = simulate_traffic(star_network(ranks, cable_rate, cable_latency), traffic,
                              {Granularity::steps, Folding::off});
  }
  report(state, result);
}
BENCHMARK(step_of_24_layers)->Arg(64)->Arg(256)->Arg(512)->Unit(benchmark::kMillisecond);

/// ViT-L/16 with its 24 blocks of 12 · 1024² parameters sharded over all ranks, 16-bit: in the
/// forward pass each block is gathered while the one before computes; in the backward pass gathered
/// again and its gradients are reduced and scattered. Compute times of a rank differ by up to 5 %.
Traffic zero_3(int ranks) {
  constexpr std::uint32_t blocks = 24;
  const core::Bytes block(12 * 1024 * 1024 * 2);
  Traffic traffic = all_of(ranks);
  std::uint64_t random = 1;
  const auto jittered = [&random](double us) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    return core::Time::from_us(us * (1 + 0.05 * static_cast<double>(random >> 40) / (1 << 24)));
  };
  for (std::uint32_t i = 0; i < 2 * blocks; ++i) {
    traffic.collectives.push_back(
        {0, CollectiveKind::all_gather, CollectiveAlgorithm::ring, block});
  }
  for (std::uint32_t i = 0; i < blocks; ++i) {
    traffic.collectives.push_back(
        {0, CollectiveKind::reduce_scatter, CollectiveAlgorithm::ring, block});
  }
  for (auto& rank : traffic.ranks) {
    rank.push_back({Traffic::Do::issue, {}, 0});
    for (std::uint32_t i = 0; i < 2 * blocks; ++i) {
      if (i + 1 < 2 * blocks) rank.push_back({Traffic::Do::issue, {}, i + 1});
      rank.push_back({Traffic::Do::wait, {}, i});
      rank.push_back({Traffic::Do::compute, jittered(i < blocks ? 1500 : 3000), 0});
      if (i >= blocks) rank.push_back({Traffic::Do::issue, {}, i + blocks});
    }
  }
  return traffic;
}

void zero_3_of_vit_large(benchmark::State& state, Granularity granularity) {
  const auto ranks = static_cast<int>(state.range(0));
  const Traffic traffic = zero_3(ranks);
  TrafficResult result;
  for (auto _ : state) {
    result = simulate_traffic(star_network(ranks, cable_rate, cable_latency), traffic,
                              {granularity, Folding::off});
  }
  report(state, result);
}
BENCHMARK_CAPTURE(zero_3_of_vit_large, steps, Granularity::steps)
    ->Arg(256)
    ->Arg(1024)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(zero_3_of_vit_large, steady, Granularity::steady)
    ->RangeMultiplier(4)
    ->Range(256, 16384)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace paceline::sim
