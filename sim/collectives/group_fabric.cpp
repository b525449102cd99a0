#include "sim/collectives/group_fabric.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "models/schedules/double_tree.hpp"
#include "sim/collectives/tuning_constants.hpp"

namespace paceline::sim {

using hardware_profiles::Cluster;
using hardware_profiles::Link;
using hardware_profiles::Slot;
using hardware_profiles::VertexId;

/// Bytes that cross each direction of a link while one byte of data is worked off.
class GroupFabric::Loads {
 public:
  explicit Loads(const GroupFabric& fabric)
      : fabric_(fabric), load_(2 * fabric.routes_.cluster().links.size(), 0.0) {}

  void add(const Way& way, double share) {
    for (const DirectedLink link : way.links) {
      if (load_[link] == 0) touched_.push_back(link);
      load_[link] += share;
    }
  }
  [[nodiscard]] Bottleneck narrowest() const {
    Bottleneck least{core::ByteRate(std::numeric_limits<double>::infinity()), 0};
    for (const DirectedLink link : touched_) {
      const core::ByteRate rate(fabric_.payload(link).value() / load_[link]);
      if (rate < least.rate) least = {rate, link};
    }
    return least;
  }

 private:
  const GroupFabric& fabric_;
  std::vector<double> load_;
  std::vector<DirectedLink> touched_;
};

GroupFabric::GroupFabric(const DeviceRoutes& routes, std::span<const int> ranks) : routes_(routes) {
  if (ranks.empty()) throw core::InvariantError("a communicator of 0 ranks (must be >= 1)");
  members_ = static_cast<int>(ranks.size());
  read_ranks(ranks);
  nics_.resize(by_node_.size());
  if (by_node_.size() > 1) {
    for (std::size_t node = 0; node < by_node_.size(); ++node) nics_[node] = nics_for(node);
  }
  make_lanes();
}

void GroupFabric::read_ranks(std::span<const int> ranks) {
  const Cluster& cluster = routes_.cluster();
  std::map<int, std::size_t> place_of_node;
  for (const int rank : ranks) {
    const hardware_profiles::Gpu& gpu = cluster.gpu_of(rank);
    const int node = cluster.slots[static_cast<std::size_t>(rank)].node;
    const auto [place, is_new] = place_of_node.try_emplace(node, by_node_.size());
    if (is_new) by_node_.emplace_back();
    by_node_[place->second].push_back(rank);
    const int capability = gpu.compute_capability_number();
    if (least_compute_capability_ == 0) least_compute_capability_ = capability;
    if (capability != least_compute_capability_) one_compute_capability_ = false;
    least_compute_capability_ = std::min(least_compute_capability_, capability);
    nvswitch_ = nvswitch_ && routes_.has_nvswitch(rank);
  }
}

std::vector<VertexId> GroupFabric::nics_for(std::size_t node) const {
  const Cluster& cluster = routes_.cluster();
  const std::vector<int>& ranks = by_node_[node];
  const int index = cluster.slots[static_cast<std::size_t>(ranks.front())].node;
  const auto& all = routes_.nics_of(index);
  const auto slots = static_cast<std::size_t>(
      cluster.active_ranks_on_node(index, static_cast<int>(cluster.slots.size())));
  std::vector<VertexId> used;
  for (const VertexId nic : all) {
    const bool near = std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
      const auto nearest = routes_.nearest_nics(rank);
      return std::find(nearest.begin(), nearest.end(), nic) != nearest.end();
    });
    if (near || ranks.size() == slots) used.push_back(nic);
  }
  return used;
}

std::vector<std::vector<int>> GroupFabric::rings_of(const std::vector<int>& ranks) const {
  if (ranks.size() < 2 || nvswitch_) return {ranks};
  const Cluster& cluster = routes_.cluster();
  constexpr std::size_t most_searched = 16;
  if (ranks.size() > most_searched) return {ranks};
  std::vector<std::vector<double>> capacity(ranks.size(), std::vector<double>(ranks.size(), 0));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      if (i == j || !routes_.joined_by_nvlink(ranks[i], ranks[j])) continue;
      double narrowest = std::numeric_limits<double>::infinity();
      for (const DirectedLink link : routes_.way(ranks[i], ranks[j]).links) {
        narrowest = std::min(narrowest, cluster.links[link / 2].bandwidth.value());
      }
      capacity[i][j] = narrowest;
    }
  }
  std::vector<std::vector<int>> rings;
  for (const std::vector<int>& cycle : hamiltonian_cycles(capacity)) {
    std::vector<int> ring;
    ring.reserve(cycle.size());
    for (const int place : cycle) ring.push_back(ranks[static_cast<std::size_t>(place)]);
    rings.push_back(std::move(ring));
  }
  if (rings.empty()) rings.push_back(ranks);
  return rings;
}

std::vector<int> GroupFabric::order_for(const std::vector<int>& ring, VertexId nic,
                                        std::size_t turn) const {
  const std::size_t size = ring.size();
  const auto at = [&](std::size_t i) { return routes_.distance(ring[i % size], nic); };
  // Start next to the NIC and, if that can be had, end next to it too; equal places take turns.
  std::pair<std::size_t, std::size_t> least{std::numeric_limits<std::size_t>::max(), 0};
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < size; ++i) {
    const std::pair<std::size_t, std::size_t> distance{at(i), nvswitch_ ? 0 : at(i + size - 1)};
    if (distance < least) starts.clear();
    if (distance <= least) starts.push_back(i);
    least = std::min(least, distance);
  }
  const std::size_t start = starts[turn % starts.size()];
  std::vector<int> order;
  order.reserve(size);
  for (std::size_t i = 0; i < size; ++i) order.push_back(ring[(start + i) % size]);
  if (nvswitch_ && starts.size() > 1) {
    // Behind a switch any order is as good: another one next to the NIC goes last.
    const int last = ring[starts[(turn + 1) % starts.size()]];
    order.erase(std::find(order.begin(), order.end(), last));
    order.push_back(last);
  }
  return order;
}

void GroupFabric::make_lanes() {
  std::vector<std::vector<std::vector<int>>> rings;  // by node
  std::size_t lanes = 1;
  for (std::size_t node = 0; node < by_node_.size(); ++node) {
    rings.push_back(rings_of(by_node_[node]));
    lanes = std::max(lanes, rings.back().size());
  }
  std::size_t nics = 1;
  for (const auto& used : nics_) nics = std::max(nics, used.size());
  lanes = std::lcm(lanes, nics);
  for (std::size_t turn = 0; turn < lanes; ++turn) {
    Lane lane;
    lane.share = 1.0 / static_cast<double>(lanes);
    for (std::size_t node = 0; node < by_node_.size(); ++node) {
      const std::vector<int>& ring = rings[node][turn % rings[node].size()];
      const auto& used = nics_[node];
      if (used.empty()) {
        lane.order.insert(lane.order.end(), ring.begin(), ring.end());
      } else {
        const auto order = order_for(ring, used[turn % used.size()], turn);
        lane.order.insert(lane.order.end(), order.begin(), order.end());
      }
    }
    make_ways(lane, turn);
    lanes_.push_back(std::move(lane));
  }
}

void GroupFabric::note_inside(const Way& way) { kind_inside_ = std::max(kind_inside_, way.kind); }

Way GroupFabric::way_between_nodes(int from, int from_start, int to, std::size_t from_node,
                                   std::size_t to_node, std::size_t turn) const {
  const auto& leaving = nics_[from_node];
  const auto& arriving = nics_[to_node];
  if (leaving.empty() || arriving.empty()) return routes_.way(from, to, turn);
  const VertexId nic = leaving[turn % leaving.size()];
  const VertexId other = arriving[turn % arriving.size()];
  // A GPU far from the NIC passes the data over NVLink to the one next to it.
  const bool relayed = from != from_start &&
                       routes_.distance(from, nic) > routes_.distance(from_start, nic) &&
                       routes_.joined_by_nvlink(from, from_start);
  if (!relayed) return routes_.way_through(from, nic, other, to, turn);
  Way way = routes_.way(from, from_start);
  const Way rest = routes_.way_through(from_start, nic, other, to, turn);
  way.kind = WayKind::network;
  way.links.insert(way.links.end(), rest.links.begin(), rest.links.end());
  way.latency += rest.latency;
  way.fabric_latency = rest.fabric_latency;
  return way;
}

void GroupFabric::make_ways(Lane& lane, std::size_t turn) {
  std::size_t first = 0;
  for (std::size_t node = 0; node < by_node_.size(); ++node) {
    const std::size_t size = by_node_[node].size();
    for (std::size_t i = first; i + 1 < first + size; ++i) {
      lane.ways.push_back(routes_.way(lane.order[i], lane.order[i + 1], turn));
      note_inside(lane.ways.back());
    }
    const int last = lane.order[first + size - 1];
    const std::size_t next = (first + size) % lane.order.size();
    if (by_node_.size() == 1) {
      if (size > 1) {
        lane.ways.push_back(routes_.way(last, lane.order[next], turn));
        note_inside(lane.ways.back());
      }
    } else {
      lane.ways.push_back(way_between_nodes(last, lane.order[first], lane.order[next], node,
                                            (node + 1) % by_node_.size(), turn));
      fabric_latency_ = std::max(fabric_latency_, lane.ways.back().fabric_latency);
      for (const VertexId nic : nics_[node]) {
        gpu_direct_ = gpu_direct_ && routes_.gpu_direct(lane.order[first], nic);
      }
    }
    first += size;
  }
}

core::ByteRate GroupFabric::payload(DirectedLink id) const {
  const Link& link = routes_.cluster().links[id / 2];
  double share = 1;  // between sockets the rate is the planned one already
  if (link.kind == "nvlink") share = nccl::nvlink_payload(least_compute_capability_);
  if (link.kind == "pcie") share = nccl::pcie_payload;
  const auto& vertices = routes_.cluster().vertices;
  const int node = vertices[link.a.index()].node;
  if (node < 0 || node != vertices[link.b.index()].node) share = nccl::network_payload;
  return core::ByteRate(link.bandwidth.value() * share);
}

Bottleneck GroupFabric::ring_rate() const {
  Loads loads(*this);
  for (const Lane& lane : lanes_) {
    for (const Way& way : lane.ways) loads.add(way, lane.share);
  }
  return loads.narrowest();
}

/// Both directions between a node and its parent, for each of the two trees half of the lane.
void GroupFabric::add_tree(Loads& loads) const {
  const auto trees = models::double_binary_tree(nodes());
  for (std::size_t turn = 0; turn < lanes_.size(); ++turn) {
    const Lane& lane = lanes_[turn];
    std::vector<int> start;  // of each node: who talks to other nodes
    for (std::size_t node = 0, first = 0; node < by_node_.size(); ++node) {
      start.push_back(lane.order[first]);
      first += by_node_[node].size();
    }
    for (const models::Tree& tree : trees) {
      for (std::size_t node = 0; node < by_node_.size(); ++node) {
        if (tree.parent[node] == models::Tree::none) continue;
        const auto parent = static_cast<std::size_t>(tree.parent[node]);
        loads.add(way_between_nodes(start[node], start[node], start[parent], node, parent, turn),
                  lane.share / 2);
        loads.add(way_between_nodes(start[parent], start[parent], start[node], parent, node, turn),
                  lane.share / 2);
      }
    }
  }
}

Bottleneck GroupFabric::tree_rate_between_nodes() const {
  Loads loads(*this);
  if (nodes() > 1) add_tree(loads);
  return loads.narrowest();
}

Bottleneck GroupFabric::tree_rate() const {
  Loads loads(*this);
  for (std::size_t turn = 0; turn < lanes_.size(); ++turn) {
    const Lane& lane = lanes_[turn];
    std::size_t first = 0;
    for (const std::vector<int>& ranks : by_node_) {
      for (std::size_t i = first; i + 1 < first + ranks.size(); ++i) {
        loads.add(routes_.way(lane.order[i], lane.order[i + 1], turn), lane.share);
        loads.add(routes_.way(lane.order[i + 1], lane.order[i], turn), lane.share);
      }
      first += ranks.size();
    }
  }
  if (nodes() > 1) add_tree(loads);
  return loads.narrowest();
}

Bottleneck GroupFabric::pairwise_rate() const {
  Loads loads(*this);
  const double share = 1.0 / static_cast<double>(std::max(members_ - 1, 1));
  for (const auto& from_node : by_node_) {
    for (const int from : from_node) {
      std::size_t turn = 0;
      for (const auto& to_node : by_node_) {
        for (const int to : to_node) {
          if (from != to) loads.add(routes_.way(from, to, turn++), share);
        }
      }
    }
  }
  return loads.narrowest();
}

Bottleneck GroupFabric::nvls_rate() const {
  Loads loads(*this);
  for (const auto& ranks : by_node_) {
    const double load = 1.0 + 1.0 / static_cast<double>(ranks.size());
    for (const int rank : ranks) {
      const Way out = routes_.way(rank, ranks[rank == ranks.front() && ranks.size() > 1 ? 1 : 0]);
      if (!out.links.empty()) {
        loads.add(Way{WayKind::nvlink, {out.links.front()}, {}, {}}, load);
        loads.add(Way{WayKind::nvlink, {out.links.front() ^ 1U}, {}, {}}, load);
      }
    }
  }
  return loads.narrowest();
}

}  // namespace paceline::sim
