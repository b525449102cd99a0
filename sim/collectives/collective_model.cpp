#include "sim/collectives/collective_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "sim/collectives/exchange_cost.hpp"
#include "sim/collectives/tuning_constants.hpp"

namespace paceline::sim {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;
using core::CollectiveProtocol;

constexpr double giga = 1e9;

/// The 2.5 us of a message over InfiniBand are in NCCL's hop; a slower network adds the rest.
constexpr double planned_network_us = 2.5;

int log2_of(int nodes) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes))) - 1;
}

/// Steps of a ring, of which each passes bytes / members on.
int ring_steps(CollectiveKind kind, int members) {
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (members - 1);
    case CollectiveKind::broadcast:
      return members;
    default:
      return members - 1;
  }
}

/// Two for each lane; in one node over NVLink two for each NVLink of a GPU.
int channels_of(const GroupFabric& fabric, const Bottleneck& ring) {
  double lanes = static_cast<double>(fabric.lanes().size());
  if (fabric.nodes() == 1 && fabric.kind_inside() == WayKind::nvlink) {
    lanes = std::max(
        lanes, ring.rate.value() / giga / nccl::nvlink_gb_per_s(fabric.least_compute_capability()));
  }
  return std::clamp(static_cast<int>(std::lround(2 * lanes)), 2, nccl::most_channels);
}

/// The tables of groups with as many nodes, as many members on each, and the same card everywhere.
std::vector<MeasuredCollective> of_group(const hardware_profiles::Cluster& cluster,
                                         std::span<const int> ranks, const GroupFabric& fabric,
                                         std::span<const MeasuredCollective> measured) {
  std::vector<MeasuredCollective> fitting;
  std::map<int, int> members_of_node;
  for (const int rank : ranks)
    ++members_of_node[cluster.slots[static_cast<std::size_t>(rank)].node];
  for (const MeasuredCollective& table : measured) {
    const bool same_cards = std::all_of(
        ranks.begin(), ranks.end(), [&](int rank) { return cluster.gpu_of(rank).id == table.gpu; });
    const bool same_layout =
        fabric.nodes() == table.nodes &&
        std::all_of(members_of_node.begin(), members_of_node.end(),
                    [&](const auto& node) { return node.second == table.gpus_per_node; });
    if (same_cards && same_layout && !table.points.empty()) fitting.push_back(table);
  }
  return fitting;
}

const nccl::HopLatency& hop_inside(WayKind kind) {
  return kind == WayKind::nvlink || kind == WayKind::same_device ? nccl::nvlink_hop
                                                                 : nccl::pcie_hop;
}

}  // namespace

CollectiveModel::Rates::Rates(const GroupFabric& fabric)
    : ring(fabric.ring_rate()),
      tree(fabric.tree_rate()),
      tree_between_nodes(fabric.tree_rate_between_nodes()),
      nvls(fabric.nvls_rate()) {}

CollectiveModel::CollectiveModel(const hardware_profiles::Cluster& cluster,
                                 std::span<const int> ranks,
                                 std::span<const MeasuredCollective> measured)
    : own_routes_(std::in_place, cluster),
      fabric_(*own_routes_, ranks),
      rates_(fabric_),
      channels_(channels_of(fabric_, rates_.ring)),
      measured_(of_group(cluster, ranks, fabric_, measured)) {}

CollectiveModel::CollectiveModel(const DeviceRoutes& routes, std::span<const int> ranks,
                                 std::span<const MeasuredCollective> measured)
    : fabric_(routes, ranks),
      rates_(fabric_),
      channels_(channels_of(fabric_, rates_.ring)),
      measured_(of_group(routes.cluster(), ranks, fabric_, measured)) {}

bool CollectiveModel::supports(CollectiveKind kind, Algorithm algorithm, Protocol protocol) const {
  const bool exchange =
      kind == CollectiveKind::all_to_all || kind == CollectiveKind::point_to_point;
  if (exchange != (algorithm == Algorithm::pairwise)) return false;
  const auto generation = nccl::generation_of(fabric_.least_compute_capability());
  switch (algorithm) {
    case Algorithm::ring:
      break;
    case Algorithm::tree:
      if (kind != CollectiveKind::all_reduce) return false;
      break;
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return kind == CollectiveKind::all_reduce && protocol == Protocol::simple &&
             fabric_.nvswitch() && fabric_.members() > fabric_.nodes() && fabric_.members() > 2 &&
             nccl::nvls_efficiency.at(static_cast<std::size_t>(generation)) > 0 &&
             (algorithm == Algorithm::nvls) == (fabric_.nodes() == 1);
    case Algorithm::pairwise:
      return protocol != Protocol::ll128;
    default:
      return false;
  }
  // NCCL enables LL128 only over NVLink (and from GPU memory to the NIC), between equal GPUs of
  // the data-centre generations, where the order of its stores is known.
  if (protocol == Protocol::ll128) {
    const int capability = fabric_.least_compute_capability();
    const bool known = capability == 70 || capability == 80 || capability >= 90;
    return known && fabric_.one_compute_capability() && fabric_.kind_inside() <= WayKind::nvlink &&
           (fabric_.nodes() == 1 || fabric_.gpu_direct());
  }
  return true;
}

double CollectiveModel::network_hop_us(Algorithm algorithm, Protocol protocol) const {
  // With one rank a node nothing hides the latency: NCCL takes the tree's.
  const bool exposed = fabric_.members() == fabric_.nodes();
  const auto& hop = algorithm == Algorithm::tree || exposed ? nccl::network_hop.tree_us
                                                            : nccl::network_hop.ring_us;
  return hop[protocol] + std::max(0.0, fabric_.fabric_latency().us() - planned_network_us);
}

double CollectiveModel::ring_latency_us(CollectiveKind kind, Protocol protocol,
                                        double bytes) const {
  const int nodes = fabric_.nodes();
  const int members = fabric_.members();
  const double network_us = nodes > 1 ? network_hop_us(Algorithm::ring, protocol) : 0;
  double inside_us = hop_inside(fabric_.kind_inside()).ring_us[protocol];
  if (kind == CollectiveKind::broadcast) {
    // Pipelined along the chain: every hop once.
    return nccl::ring_base_us[protocol] + (nodes - 1) * network_us + (members - nodes) * inside_us;
  }
  if (nodes > 1) {
    inside_us = std::max(inside_us, nccl::network_post_us * (protocol == Protocol::simple ? 3 : 1));
  }
  const int rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
  const int steps_between = rounds * (nodes - 1);
  const int steps = ring_steps(kind, members);
  double latency = nccl::ring_base_us[protocol] + (steps - steps_between) * inside_us +
                   steps_between * network_us;
  const bool plateau = protocol == Protocol::simple && nodes > 1 &&
                       kind == CollectiveKind::all_reduce && bytes / (channels_ * members) >= 64;
  if (plateau) {
    latency *= fabric_.least_compute_capability() < 80 ? nccl::ring_plateau_before_ampere
                                                       : nccl::ring_plateau;
  }
  return latency;
}

double CollectiveModel::latency_us(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                                   double bytes) const {
  const int nodes = fabric_.nodes();
  const auto& hop = hop_inside(fabric_.kind_inside());
  const int members_of_node = static_cast<int>(fabric_.members()) / nodes;
  switch (algorithm) {
    case Algorithm::tree:
      return nccl::tree_base_us[protocol] +
             2 * ((members_of_node - 1) * hop.tree_us[protocol] +
                  (nodes > 1 ? log2_of(nodes) * network_hop_us(algorithm, protocol) : 0));
    case Algorithm::nvls:
      return nccl::nvls_us;
    case Algorithm::nvls_tree:
      return nccl::nvls_us +
             2 * log2_of(nodes) *
                 (nccl::nvls_tree_network_us +
                  std::max(0.0, fabric_.fabric_latency().us() - planned_network_us));
    case Algorithm::pairwise: {
      // Eight peers at a time (NCCL's work element holds so many sends), one hop each round.
      constexpr int peers_at_once = 8;
      const int rounds = (fabric_.members() - 1 + peers_at_once - 1) / peers_at_once;
      const double hop_us = nodes > 1 ? network_hop_us(algorithm, protocol) : hop.ring_us[protocol];
      return nccl::ring_base_us[protocol] + rounds * hop_us;
    }
    default:
      return ring_latency_us(kind, protocol, bytes);
  }
}

const Bottleneck& CollectiveModel::pairwise() const {
  if (!pairwise_) pairwise_ = fabric_.pairwise_rate();
  return *pairwise_;
}

const Bottleneck& CollectiveModel::bottleneck(Algorithm algorithm) const {
  switch (algorithm) {
    case Algorithm::tree:
      return rates_.tree;
    case Algorithm::nvls:
      return rates_.nvls;
    case Algorithm::nvls_tree:
      return rates_.tree_between_nodes.rate < rates_.nvls.rate ? rates_.tree_between_nodes
                                                               : rates_.nvls;
    case Algorithm::pairwise:
      return pairwise();
    default:
      return rates_.ring;
  }
}

double CollectiveModel::rate_of(CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                                double bytes) const {
  const auto generation = nccl::generation_of(fabric_.least_compute_capability());
  const int nodes = fabric_.nodes();
  const double members = fabric_.members();
  // Between nodes the host's share of LL limits it, whatever the GPU.
  const double ll_most = nccl::entry(nccl::ll_most_gb_per_s, generation, nodes) * giga;
  const double link = bottleneck(algorithm).rate.value();
  switch (algorithm) {
    case Algorithm::tree: {
      // `link` counts data, NCCL's constants the traffic of a bus, which is twice as much.
      // In one node NCCL plans no more for the tree than for the ring.
      const double planned = nodes == 1 ? std::min(2 * link, rates_.ring.rate.value()) : 2 * link;
      double bus =
          std::min(planned * nccl::tree_efficiency,
                   channels_ * giga * nccl::entry(nccl::tree_channel_gb_per_s, generation, nodes));
      if (protocol == Protocol::ll) bus = std::min(bus * nccl::tree_ll_efficiency, ll_most);
      if (protocol == Protocol::ll128) {
        bus = std::min(
            bus * (nodes == 1 ? nccl::tree_ll128_efficiency_one_node : nccl::tree_ll128_efficiency),
            channels_ * giga * nccl::entry(nccl::tree_ll128_channel_gb_per_s, generation, nodes));
      }
      const int doublings = bytes < 128 ? 0 : static_cast<int>(std::floor(std::log2(bytes / 64)));
      const auto& correction = nccl::tree_correction.at(static_cast<std::size_t>(protocol));
      if (doublings < static_cast<int>(correction.size())) {
        bus *= correction.at(static_cast<std::size_t>(doublings));
      }
      return bus / 2;
    }
    case Algorithm::nvls:
    case Algorithm::nvls_tree: {
      const double in_switch =
          rates_.nvls.rate.value() * nccl::nvls_efficiency.at(static_cast<std::size_t>(generation));
      return algorithm == Algorithm::nvls
                 ? in_switch
                 : std::min(in_switch, rates_.tree_between_nodes.rate.value());
    }
    case Algorithm::pairwise: {
      const double sent = protocol == Protocol::ll ? link * nccl::ring_ll_efficiency : link;
      if (kind == CollectiveKind::point_to_point) return sent;
      // Each member sends bytes / n to each other one.
      return sent * members * members / (members - 1) / members;
    }
    default: {
      double bus = link;
      if (protocol == Protocol::ll) bus = std::min(bus * nccl::ring_ll_efficiency, ll_most);
      if (protocol == Protocol::ll128) {
        bus = std::min(
            bus * nccl::ring_ll128_efficiency,
            channels_ * giga * nccl::entry(nccl::ring_ll128_channel_gb_per_s, generation, nodes));
      }
      return bus * members / ring_steps(kind, fabric_.members());
    }
  }
}

CollectiveEstimate CollectiveModel::estimate(CollectiveKind kind, core::Bytes bytes,
                                             CollectiveChoice choice) const {
  if (bytes < core::Bytes{}) {
    throw core::InvariantError("a collective of " + std::to_string(bytes.value()) +
                               " bytes (must be >= 0)");
  }
  if (kind == CollectiveKind::point_to_point && fabric_.members() != 2) {
    throw core::InvariantError("a point_to_point of " + std::to_string(fabric_.members()) +
                               " members (must be 2)");
  }
  if (fabric_.members() == 1) return {};
  std::optional<CollectiveEstimate> best;
  for (std::size_t a = 0; a < core::count_of<Algorithm>; ++a) {
    for (std::size_t p = 0; p < core::count_of<Protocol>; ++p) {
      const auto algorithm = static_cast<Algorithm>(a);
      const auto protocol = static_cast<Protocol>(p);
      if (choice.algorithm.value_or(algorithm) != algorithm) continue;
      if (choice.protocol.value_or(protocol) != protocol) continue;
      if (!supports(kind, algorithm, protocol)) continue;
      const bool both_fit = !choice.protocol && algorithm == Algorithm::pairwise;
      const bool small = bytes.value() / fabric_.members() <= nccl::pairwise_ll_bytes;
      if (both_fit && small != (protocol == Protocol::ll)) continue;
      const auto amount = static_cast<double>(bytes.value());
      CollectiveEstimate found;
      found.algorithm = algorithm;
      found.protocol = protocol;
      found.channels = channels_;
      found.latency = core::Time::from_us(latency_us(kind, algorithm, protocol, amount));
      found.rate = core::ByteRate(rate_of(kind, algorithm, protocol, amount));
      found.busiest = bottleneck(algorithm).link;
      found.time = found.latency + core::transfer_time(bytes, found.rate);
      if (!best || found.time < best->time) best = found;
    }
  }
  if (!best) {
    throw core::InvariantError(
        "no way to run " + std::string(core::spelling(kind)) + " over " +
        std::to_string(fabric_.members()) + " ranks as " +
        (choice.algorithm ? std::string(core::spelling(*choice.algorithm)) : "any algorithm") +
        " with " +
        (choice.protocol ? std::string(core::spelling(*choice.protocol)) : "any protocol") +
        " (leave the choice open)");
  }
  for (const MeasuredCollective& table : measured_) {
    if (table.kind != kind) continue;
    best->time = core::Time::from_us(interpolated_us(table.points, bytes, best->rate));
    best->measured = true;
    break;
  }
  return *best;
}

CollectiveEstimate estimate_collective(const hardware_profiles::Cluster& cluster,
                                       std::span<const int> ranks, CollectiveKind kind,
                                       core::Bytes bytes) {
  return CollectiveModel(cluster, ranks).estimate(kind, bytes);
}

}  // namespace paceline::sim
