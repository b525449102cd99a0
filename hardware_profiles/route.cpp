#include <algorithm>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <deque>
#include <map>
#include <mutex>

#include "core/error.hpp"
#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/graph.hpp"

namespace paceline::hardware_profiles {
namespace {

constexpr WayCost no_way{std::numeric_limits<std::int64_t>::max(),
                         std::numeric_limits<std::int32_t>::max(), 0};

struct Better {
  bool operator()(const WayCost& a, const WayCost& b) const {
    if (a.latency_ps != b.latency_ps) return a.latency_ps < b.latency_ps;
    if (a.links != b.links) return a.links < b.links;
    return a.narrowest > b.narrowest;
  }
};

struct Joined {
  WayCost operator()(const WayCost& way, const WayCost& link) const {
    return {way.latency_ps + link.latency_ps, way.links + link.links,
            std::min(way.narrowest, link.narrowest)};
  }
};

WayCost cost_of(const Link& link) { return {link.latency.ps(), 1, link.bandwidth.value()}; }

}  // namespace

struct RouteCache::State {
  std::mutex mutex;
  bool has_graph = false;
  Graph graph;
  std::map<VertexId, std::vector<LinkId>> trees;
  std::deque<VertexId> order;  // of `trees`, oldest first
};

RouteCache::RouteCache() : state_(std::make_unique<State>()) {}
RouteCache::RouteCache(const RouteCache& /*other*/) : RouteCache() {}
RouteCache::RouteCache(RouteCache&& /*other*/) noexcept : RouteCache() {}
RouteCache& RouteCache::operator=(const RouteCache& other) {
  if (this != &other) state_ = std::make_unique<State>();
  return *this;
}
RouteCache& RouteCache::operator=(RouteCache&& other) noexcept {
  if (this != &other) state_ = std::make_unique<State>();
  return *this;
}
RouteCache::~RouteCache() = default;

Graph graph_of(const Cluster& cluster) {
  Graph graph(cluster.vertices.size());
  for (const Link& link : cluster.links) {
    boost::add_edge(link.a.index(), link.b.index(), cost_of(link), graph);
  }
  return graph;
}

std::vector<LinkId> last_links(const Cluster& cluster, const Graph& graph, VertexId source) {
  std::vector<WayCost> cost(cluster.vertices.size());
  const auto index = boost::get(boost::vertex_index, graph);
  boost::dijkstra_shortest_paths(
      graph, source.index(),
      boost::weight_map(boost::get(boost::edge_bundle, graph))
          .distance_map(boost::make_iterator_property_map(cost.begin(), index))
          .distance_compare(Better{})
          .distance_combine(Joined{})
          .distance_inf(no_way)
          .distance_zero(WayCost{}));
  // The search fixes the cost of the best way; among ways of that cost the lowest link id decides.
  std::vector<LinkId> last(cluster.vertices.size());
  for (std::size_t i = 0; i < cluster.links.size(); ++i) {
    const Link& link = cluster.links[i];
    const auto take_if_best = [&](VertexId from, VertexId to) {
      if (last[to.index()].valid() || cost[from.index()] == no_way) return;
      if (Joined{}(cost[from.index()], cost_of(link)) == cost[to.index()]) {
        last[to.index()] = LinkId(i);
      }
    };
    take_if_best(link.a, link.b);
    take_if_best(link.b, link.a);
  }
  return last;
}

std::vector<int> parts_of(const Cluster& cluster) {
  std::vector<int> parts(cluster.vertices.size());
  if (!parts.empty()) boost::connected_components(graph_of(cluster), parts.data());
  return parts;
}

namespace {

const std::vector<LinkId>& tree_of(const Cluster& cluster, VertexId source,
                                   RouteCache::State& state) {
  constexpr std::size_t most_entries = (std::size_t{64} << 20) / sizeof(LinkId);
  if (!state.has_graph) {
    state.graph = graph_of(cluster);
    state.has_graph = true;
  }
  const auto found = state.trees.find(source);
  if (found != state.trees.end()) return found->second;
  while (!state.order.empty() &&
         (state.trees.size() + 1) * cluster.vertices.size() > most_entries) {
    state.trees.erase(state.order.front());
    state.order.pop_front();
  }
  state.order.push_back(source);
  return state.trees[source] = last_links(cluster, state.graph, source);
}

[[noreturn]] void no_way_error(const Cluster& cluster, const Vertex& from, const Vertex& to) {
  const bool between_nodes = from.node != to.node;
  throw core::ConfigError(
      cluster.origin, between_nodes ? "/fabric" : "",
      "no way from " + from.name + " to " + to.name +
          (between_nodes ? " (give /fabric/link/bandwidth_gbit_per_s, the rate of a node's port)"
                         : " (give the links of their node)"));
}

}  // namespace

std::vector<LinkId> Cluster::route(VertexId from, VertexId to) const {
  std::vector<LinkId> way;
  if (from == to) return way;
  RouteCache::State& state = route_cache.state();
  const std::lock_guard lock(state.mutex);
  const std::vector<LinkId>& last = tree_of(*this, from, state);
  for (VertexId at = to; at != from;) {
    const LinkId link = last.at(at.index());
    if (!link.valid()) no_way_error(*this, vertices.at(from.index()), vertices.at(to.index()));
    way.push_back(link);
    at = links[link.index()].a == at ? links[link.index()].b : links[link.index()].a;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

}  // namespace paceline::hardware_profiles
