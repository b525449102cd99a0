#include "sim/network/device_routes.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

using hardware_profiles::Cluster;
using hardware_profiles::Link;
using hardware_profiles::LinkId;
using hardware_profiles::VertexId;

constexpr std::uint32_t unreached = std::numeric_limits<std::uint32_t>::max();

DirectedLink directed(std::size_t link, const Link& of, VertexId from) {
  return static_cast<DirectedLink>(2 * link + (of.a == from ? 0 : 1));
}

bool is_nvlink(const Link& link) { return link.kind == "nvlink"; }

}  // namespace

DeviceRoutes::DeviceRoutes(const Cluster& cluster)
    : cluster_(cluster), inside_(cluster.vertices.size()), outside_(cluster.vertices.size()) {
  const std::size_t nodes = cluster.kind_of_node.size();
  first_vertex_.assign(nodes, cluster.vertices.size());
  vertices_.assign(nodes, 0);
  first_link_.assign(nodes, cluster.links.size());
  nics_.resize(nodes);
  for (std::size_t i = 0; i < cluster.vertices.size(); ++i) {
    if (cluster.vertices[i].node < 0) continue;
    const auto node = static_cast<std::size_t>(cluster.vertices[i].node);
    first_vertex_[node] = std::min(first_vertex_[node], i);
    ++vertices_[node];
    if (cluster.vertices[i].kind == "nic") nics_[node].emplace_back(i);
  }
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const Link& link = cluster.links[i];
    const int node = node_of(link.a);
    const bool inside = node >= 0 && node == node_of(link.b);
    if (inside) {
      auto& first = first_link_[static_cast<std::size_t>(node)];
      first = std::min(first, i);
    }
    auto& neighbours = inside ? inside_ : outside_;
    neighbours[link.a.index()].push_back({link.b, directed(i, link, link.a)});
    neighbours[link.b.index()].push_back({link.a, directed(i, link, link.b)});
  }
}

VertexId DeviceRoutes::vertex_of(int rank) const {
  if (rank < 0 || static_cast<std::size_t>(rank) >= cluster_.slots.size()) {
    throw core::ConfigError(cluster_.origin, "",
                            "has no slot for rank " + std::to_string(rank) + " (it has " +
                                std::to_string(cluster_.slots.size()) + " slots)");
  }
  return cluster_.slots[static_cast<std::size_t>(rank)].vertex;
}

void DeviceRoutes::no_way(VertexId from, VertexId to) const {
  const bool between_nodes = node_of(from) != node_of(to);
  throw core::ConfigError(
      cluster_.origin, between_nodes ? "/fabric" : "",
      "no way from " + cluster_.vertices[from.index()].name + " to " +
          cluster_.vertices[to.index()].name + " for a collective (" +
          (between_nodes ? "give /fabric/link/bandwidth_gbit_per_s, the rate of a node's port"
                         : "give the links from each GPU to its CPU") +
          ")");
}

/// Breadth first; among ways with the fewest links the one whose links come first in the file.
DeviceRoutes::LocalPath DeviceRoutes::search(int node, std::size_t from, std::size_t to,
                                             Over over) const {
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node)];
  const std::size_t count = vertices_[static_cast<std::size_t>(node)];
  std::vector<DirectedLink> arrived_by(count, unreached);
  std::vector<std::size_t> previous(count, count);
  std::deque<std::size_t> queue{from};
  previous[from] = from;
  while (!queue.empty() && previous[to] == count) {
    const std::size_t at = queue.front();
    queue.pop_front();
    const bool end_point = cluster_.vertices[base + at].kind == "gpu" ||
                           cluster_.vertices[base + at].kind == "cpu_rank" ||
                           cluster_.vertices[base + at].kind == "nic";
    if (end_point && at != from) continue;  // data does not pass through it
    for (const Neighbour& next : inside_[base + at]) {
      const std::size_t index = next.to.index() - base;
      if (previous[index] != count) continue;
      if (is_nvlink(cluster_.links[next.link / 2]) != (over == Over::nvlink)) continue;
      previous[index] = at;
      arrived_by[index] = next.link;
      queue.push_back(index);
    }
  }
  LocalPath path;
  path.exists = previous[to] != count;
  if (!path.exists) return path;
  const auto first = static_cast<DirectedLink>(2 * first_link_[static_cast<std::size_t>(node)]);
  for (std::size_t at = to; at != from; at = previous[at]) {
    path.links.push_back(arrived_by[at] - first);
  }
  std::reverse(path.links.begin(), path.links.end());
  return path;
}

const DeviceRoutes::LocalPath& DeviceRoutes::local_path(int node, std::size_t from, std::size_t to,
                                                        Over over) const {
  // In a drawn fabric a node may have links that its kind has not: then it stands for itself.
  const bool drawn =
      std::any_of(inside_[first_vertex_[static_cast<std::size_t>(node)] + from].begin(),
                  inside_[first_vertex_[static_cast<std::size_t>(node)] + from].end(),
                  [&](const Neighbour& next) {
                    return node + 1 < static_cast<int>(first_link_.size()) &&
                           next.link / 2 >= first_link_[static_cast<std::size_t>(node) + 1];
                  });
  const int place = drawn ? -1 - node : cluster_.kind_of_node[static_cast<std::size_t>(node)];
  const PathKey key{{place, static_cast<int>(over)}, {from, to}};
  const auto found = paths_.find(key);
  if (found != paths_.end()) return found->second;
  return paths_.emplace(key, search(node, from, to, over)).first->second;
}

bool DeviceRoutes::append_local(Way& way, VertexId from, VertexId to, Over over) const {
  const int node = node_of(from);
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node)];
  const LocalPath& path = local_path(node, from.index() - base, to.index() - base, over);
  if (!path.exists) return false;
  const auto first = static_cast<DirectedLink>(2 * first_link_[static_cast<std::size_t>(node)]);
  for (const DirectedLink link : path.links) way.links.push_back(first + link);
  return true;
}

VertexId DeviceRoutes::nearest_cpu(VertexId device) const {
  const int node = node_of(device);
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node)];
  VertexId nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t i = 0; i < vertices_[static_cast<std::size_t>(node)]; ++i) {
    if (cluster_.vertices[base + i].kind != "cpu") continue;
    const LocalPath& path = local_path(node, device.index() - base, i, Over::pcie);
    if (path.exists && path.links.size() < fewest) {
      fewest = path.links.size();
      nearest = VertexId(base + i);
    }
  }
  return nearest;
}

bool DeviceRoutes::append_through_host(Way& way, VertexId from, VertexId to,
                                       VertexId host_of) const {
  const VertexId host = nearest_cpu(host_of);
  if (!host.valid()) return false;
  return append_local(way, from, host, Over::pcie) && append_local(way, host, to, Over::pcie);
}

const std::vector<std::uint32_t>& DeviceRoutes::fabric_distances(VertexId from) const {
  const auto found = distances_.find(from);
  if (found != distances_.end()) return found->second;
  std::vector<std::uint32_t> distance(cluster_.vertices.size(), unreached);
  std::deque<VertexId> queue{from};
  distance[from.index()] = 0;
  while (!queue.empty()) {
    const VertexId at = queue.front();
    queue.pop_front();
    for (const Neighbour& next : outside_[at.index()]) {
      if (node_of(next.to) >= 0 || distance[next.to.index()] != unreached) continue;
      distance[next.to.index()] = distance[at.index()] + 1;
      queue.push_back(next.to);
    }
  }
  return distances_.emplace(from, std::move(distance)).first->second;
}

bool DeviceRoutes::append_fabric(Way& way, VertexId from_nic, VertexId to_nic,
                                 std::size_t lane) const {
  for (const Neighbour& next : outside_[from_nic.index()]) {
    if (next.to == to_nic) {
      way.links.push_back(next.link);
      return true;
    }
  }
  // The fewest links between a switch of the one and a switch of the other.
  std::uint32_t least = unreached;
  std::vector<std::pair<Neighbour, Neighbour>> ends;  // first and last link
  for (const Neighbour& first : outside_[from_nic.index()]) {
    if (node_of(first.to) >= 0) continue;
    const auto& distance = fabric_distances(first.to);
    for (const Neighbour& last : outside_[to_nic.index()]) {
      if (node_of(last.to) >= 0 || distance[last.to.index()] == unreached) continue;
      if (distance[last.to.index()] < least) ends.clear();
      if (distance[last.to.index()] > least) continue;
      least = distance[last.to.index()];
      ends.emplace_back(first, last);
    }
  }
  if (ends.empty()) return false;
  const auto& [first, last] = ends[lane % ends.size()];
  const auto& distance = fabric_distances(first.to);
  std::vector<DirectedLink> backwards{last.link ^ 1U};
  for (VertexId at = last.to; at != first.to;) {
    std::vector<Neighbour> before;
    for (const Neighbour& next : outside_[at.index()]) {
      if (node_of(next.to) < 0 && distance[next.to.index()] + 1 == distance[at.index()]) {
        before.push_back(next);
      }
    }
    const Neighbour& chosen = before[lane % before.size()];
    backwards.push_back(chosen.link ^ 1U);
    at = chosen.to;
  }
  way.links.push_back(first.link);
  way.links.insert(way.links.end(), backwards.rbegin(), backwards.rend());
  return true;
}

void DeviceRoutes::add_latencies(Way& way) const {
  for (const DirectedLink id : way.links) {
    const Link& link = cluster_.links[id / 2];
    way.latency += link.latency;
    if (node_of(link.a) < 0 || node_of(link.a) != node_of(link.b)) {
      way.fabric_latency += link.latency;
    }
  }
}

bool DeviceRoutes::gpu_direct(int rank, VertexId nic) const {
  if (cluster_.slots[static_cast<std::size_t>(rank)].gpu.empty()) return false;
  if (!cluster_.peer_to_peer_over_pcie(rank)) return false;
  const VertexId device = vertex_of(rank);
  const int node = node_of(device);
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node)];
  const LocalPath& path = local_path(node, device.index() - base, nic.index() - base, Over::pcie);
  const auto first = static_cast<DirectedLink>(2 * first_link_[static_cast<std::size_t>(node)]);
  for (const DirectedLink link : path.links) {
    const Link& crossed = cluster_.links[(first + link) / 2];
    if (cluster_.vertices[crossed.a.index()].kind == "cpu" ||
        cluster_.vertices[crossed.b.index()].kind == "cpu") {
      return false;
    }
  }
  const auto& ports = outside_[nic.index()];
  return std::none_of(ports.begin(), ports.end(), [&](const Neighbour& port) {
    return cluster_.links[port.link / 2].kind == "ethernet";
  });
}

std::size_t DeviceRoutes::distance(int rank, VertexId vertex) const {
  const VertexId device = vertex_of(rank);
  const int node = node_of(device);
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node)];
  const LocalPath& path =
      local_path(node, device.index() - base, vertex.index() - base, Over::pcie);
  return path.exists ? path.links.size() : std::numeric_limits<std::size_t>::max();
}

std::vector<VertexId> DeviceRoutes::nearest_nics(int rank) const {
  std::vector<VertexId> nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const VertexId nic : nics_of(node_of(vertex_of(rank)))) {
    const std::size_t links = distance(rank, nic);
    if (links < fewest) nearest.clear();
    if (links <= fewest) nearest.push_back(nic);
    fewest = std::min(fewest, links);
  }
  return nearest;
}

bool DeviceRoutes::joined_by_nvlink(int rank, int other_rank) const {
  const VertexId from = vertex_of(rank);
  const VertexId to = vertex_of(other_rank);
  if (node_of(from) != node_of(to)) return false;
  const std::size_t base = first_vertex_[static_cast<std::size_t>(node_of(from))];
  return local_path(node_of(from), from.index() - base, to.index() - base, Over::nvlink).exists;
}

bool DeviceRoutes::has_nvswitch(int rank) const {
  const auto& links = inside_[vertex_of(rank).index()];
  return std::any_of(links.begin(), links.end(), [&](const Neighbour& next) {
    return is_nvlink(cluster_.links[next.link / 2]) &&
           cluster_.vertices[next.to.index()].kind == "switch";
  });
}

Way DeviceRoutes::way_through(int from_rank, VertexId from_nic, VertexId to_nic, int to_rank,
                              std::size_t lane) const {
  const VertexId from = vertex_of(from_rank);
  const VertexId to = vertex_of(to_rank);
  Way way;
  way.kind = WayKind::network;
  const auto in_node = [&](int rank, VertexId device, VertexId nic, VertexId begin, VertexId end) {
    const bool straight =
        cluster_.slots[static_cast<std::size_t>(rank)].gpu.empty() || gpu_direct(rank, nic);
    return straight ? append_local(way, begin, end, Over::pcie)
                    : append_through_host(way, begin, end, device);
  };
  // Different nodes take different spines in turn.
  const std::size_t turn = lane + static_cast<std::size_t>(node_of(from));
  if (!in_node(from_rank, from, from_nic, from, from_nic) ||
      !append_fabric(way, from_nic, to_nic, turn) || !in_node(to_rank, to, to_nic, to_nic, to)) {
    no_way(from, to);
  }
  add_latencies(way);
  return way;
}

Way DeviceRoutes::way(int from_rank, int to_rank, std::size_t lane) const {
  const VertexId from = vertex_of(from_rank);
  const VertexId to = vertex_of(to_rank);
  Way way;
  if (from == to) return way;
  if (node_of(from) != node_of(to)) {
    const auto leaving = nearest_nics(from_rank);
    const auto arriving = nearest_nics(to_rank);
    if (leaving.empty() || arriving.empty()) no_way(from, to);
    return way_through(from_rank, leaving[lane % leaving.size()], arriving[lane % arriving.size()],
                       to_rank, lane);
  }
  const bool both_gpus = !cluster_.slots[static_cast<std::size_t>(from_rank)].gpu.empty() &&
                         !cluster_.slots[static_cast<std::size_t>(to_rank)].gpu.empty();
  if (both_gpus && append_local(way, from, to, Over::nvlink)) {
    way.kind = WayKind::nvlink;
  } else if (both_gpus && cluster_.peer_to_peer_over_pcie(from_rank) &&
             cluster_.peer_to_peer_over_pcie(to_rank)) {
    way.kind = WayKind::pcie_peer;
    if (!append_local(way, from, to, Over::pcie)) no_way(from, to);
  } else {
    way.kind = WayKind::host_memory;
    const bool found = both_gpus ? append_through_host(way, from, to, from)
                                 : append_local(way, from, to, Over::pcie);
    if (!found) no_way(from, to);
  }
  add_latencies(way);
  return way;
}

}  // namespace paceline::sim
