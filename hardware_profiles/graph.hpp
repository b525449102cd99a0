#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "hardware_profiles/cluster.hpp"

/// The cluster as a Boost.Graph.
namespace paceline::hardware_profiles {

/// What ways are compared by: least latency, then fewest links, then the widest narrowest link.
struct WayCost {
  std::int64_t latency_ps = 0;
  std::int32_t links = 0;
  double narrowest = std::numeric_limits<double>::infinity();  // bytes/s

  bool operator==(const WayCost&) const = default;
};

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS,
                                    boost::no_property, WayCost>;

[[nodiscard]] Graph graph_of(const Cluster& cluster);

/// For each vertex the last link of the best way from `source`; invalid at `source` and where
/// there is no way.
[[nodiscard]] std::vector<LinkId> last_links(const Cluster& cluster, const Graph& graph,
                                             VertexId source);

/// For each vertex the number of the connected part that it is in.
[[nodiscard]] std::vector<int> parts_of(const Cluster& cluster);

}  // namespace paceline::hardware_profiles
