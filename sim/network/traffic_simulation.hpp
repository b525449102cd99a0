#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "core/time.hpp"
#include "core/vocabulary.hpp"
#include "sim/network/device_routes.hpp"

namespace paceline::sim {

/// Links with a capacity, and ways over them.
struct TrafficNetwork {
  struct Way {
    std::vector<std::uint32_t> links;
    core::Time latency;
  };
  std::vector<core::ByteRate> capacity;      // by link
  std::function<Way(int from, int to)> way;  // between ranks
};

/// Every rank behind one cable of `rate` in each direction to one switch; a cable adds `latency`.
[[nodiscard]] TrafficNetwork star_network(int ranks, core::ByteRate rate, core::Time latency);
/// The graph of a cluster, at the line rate of its links or, by `capacity`, at another. `routes`
/// must outlive it.
[[nodiscard]] TrafficNetwork network_of(
    const DeviceRoutes& routes,
    const std::function<core::ByteRate(DirectedLink)>& capacity = nullptr);

/// What ranks do: compute, and collectives on a stream of their own.
struct Traffic {
  enum class Do : std::uint8_t {
    compute,  // `duration` on the compute stream
    issue,    // collective `index`: it starts when those issued before have ended
    wait      // the compute stream, until collective `index` has ended
  };
  struct Operation {
    Do what = Do::compute;
    core::Time duration;
    std::uint32_t index = 0;
  };
  struct Collective {
    std::uint32_t communicator = 0;
    core::CollectiveKind kind = core::CollectiveKind::all_reduce;
    core::CollectiveAlgorithm algorithm = core::CollectiveAlgorithm::ring;
    core::Bytes bytes;
    int chunks = 1;  // as models::ScheduleOptions
    int group = 1;
  };
  std::vector<std::vector<int>> communicators;  // ranks in order
  std::vector<Collective> collectives;
  std::vector<std::vector<Operation>> ranks;  // by rank
};

/// Step by step, each chunk a flow: the reference; or one flow for each edge for the whole of a
/// collective, from the last member's arrival, and then its latency.
enum class Granularity : std::uint8_t { steps, steady };
/// Simulate one rank for all where `foldable` says so.
enum class Folding : std::uint8_t { off, on };

struct TrafficOptions {
  Granularity granularity = Granularity::steady;
  Folding folding = Folding::on;
};

struct TrafficResult {
  core::Time end;
  std::vector<core::Time> rank_end;        // by rank
  std::vector<core::Time> collective_end;  // of its last member
  std::vector<core::Time> compute_end;     // by rank: of its last operation
  std::uint64_t flows = 0;
  std::uint64_t events = 0;
  std::int64_t bytes = 0;  // that arrived
  std::uint64_t event_log_hash = 0;
  bool folded = false;
};

/// Runs the traffic. Throws `core::InvariantError` for operations that name what is not there,
/// `core::RunError` if ranks wait for each other for ever, naming the first that does.
[[nodiscard]] TrafficResult simulate_traffic(const TrafficNetwork& network, const Traffic& traffic,
                                             TrafficOptions options = {});

/// Whether one rank stands for all: all do the same, every collective is a ring over all ranks with
/// equal slices, and its ways have equal capacities and latencies and no link in common.
[[nodiscard]] bool foldable(const TrafficNetwork& network, const Traffic& traffic);

}  // namespace paceline::sim
