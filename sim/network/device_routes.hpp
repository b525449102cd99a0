#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::sim {

/// One direction of a link: 2 · link, or 2 · link + 1 for the way from its `b` to its `a`.
using DirectedLink = std::uint32_t;

[[nodiscard]] constexpr hardware_profiles::LinkId link_of(DirectedLink link) {
  return hardware_profiles::LinkId(link / 2);
}

/// How the data of two ranks gets from one to the other.
enum class WayKind : std::uint8_t {
  same_device,
  nvlink,       // over NVLink alone
  pcie_peer,    // one GPU reads or writes the other over PCI Express
  host_memory,  // through a buffer in host memory: no peer-to-peer, or CPU ranks
  network
};

struct Way {
  WayKind kind = WayKind::same_device;
  std::vector<DirectedLink> links;  // in order; none twice
  core::Time latency;               // Σ over links
  /// The part of it outside the nodes, and its number of links.
  core::Time fabric_latency;
};

/// Ways between ranks over the cluster graph, as a communication library uses it: NVLink before
/// PCI Express before host memory; data never passes through a third GPU; between nodes through the
/// NICs, straight from GPU memory if GPU and NIC are joined below the CPU (NCCL_NET_GDR_LEVEL, by
/// default PXB), the GPUs may read each other over PCI Express and the network is none of TCP
/// sockets; else through host memory. Inside a node the way with the fewest links,
/// ties by the lowest link id. Between nodes the fewest fabric links; ways of equal length (several
/// spines) are taken in turn, by `lane`.
///
/// Nodes of one kind have the same ways, which are searched once: asking for n ways in a cluster of
/// n nodes costs O(n · length) after O(n) for the first.
class DeviceRoutes {
 public:
  /// The cluster must outlive the object, and its links must not change.
  explicit DeviceRoutes(const hardware_profiles::Cluster& cluster);

  /// From rank to rank. `lane` picks among equal NICs and spines. Throws `core::ConfigError` if
  /// there is no way.
  [[nodiscard]] Way way(int from_rank, int to_rank, std::size_t lane = 0) const;
  /// Between nodes, through these two NICs.
  [[nodiscard]] Way way_through(int from_rank, hardware_profiles::VertexId from_nic,
                                hardware_profiles::VertexId to_nic, int to_rank,
                                std::size_t lane) const;
  /// Of a node, in the order of its file.
  [[nodiscard]] const std::vector<hardware_profiles::VertexId>& nics_of(int node) const {
    return nics_.at(static_cast<std::size_t>(node));
  }
  /// Those with the fewest links to the rank's device; empty if there is none.
  [[nodiscard]] std::vector<hardware_profiles::VertexId> nearest_nics(int rank) const;
  /// Links between the device of a rank and a vertex of its node.
  [[nodiscard]] std::size_t distance(int rank, hardware_profiles::VertexId vertex) const;
  /// NVLink between the two without passing a third GPU.
  [[nodiscard]] bool joined_by_nvlink(int rank, int other_rank) const;
  /// NVLink from the rank's GPU to a switch.
  [[nodiscard]] bool has_nvswitch(int rank) const;
  /// Whether a network card reads the rank's GPU memory on the way over `nic`.
  [[nodiscard]] bool gpu_direct(int rank, hardware_profiles::VertexId nic) const;

  [[nodiscard]] const hardware_profiles::Cluster& cluster() const { return cluster_; }

 private:
  using VertexId = hardware_profiles::VertexId;
  enum class Over : std::uint8_t { nvlink, pcie };
  struct Neighbour {
    VertexId to;
    DirectedLink link = 0;
  };
  struct LocalPath {
    bool exists = false;
    std::vector<DirectedLink> links;  // counted from the node's first link
  };

  [[nodiscard]] const LocalPath& local_path(int node, std::size_t from, std::size_t to,
                                            Over over) const;
  [[nodiscard]] LocalPath search(int node, std::size_t from, std::size_t to, Over over) const;
  [[nodiscard]] bool append_local(Way& way, VertexId from, VertexId to, Over over) const;
  [[nodiscard]] bool append_through_host(Way& way, VertexId from, VertexId to,
                                         VertexId host_of) const;
  [[nodiscard]] bool append_fabric(Way& way, VertexId from_nic, VertexId to_nic,
                                   std::size_t lane) const;
  [[nodiscard]] VertexId nearest_cpu(VertexId device) const;
  void add_latencies(Way& way) const;
  [[noreturn]] void no_way(VertexId from, VertexId to) const;
  [[nodiscard]] VertexId vertex_of(int rank) const;
  [[nodiscard]] int node_of(VertexId vertex) const {
    return cluster_.vertices[vertex.index()].node;
  }
  [[nodiscard]] const std::vector<std::uint32_t>& fabric_distances(VertexId from) const;

  const hardware_profiles::Cluster& cluster_;
  std::vector<std::size_t> first_vertex_, vertices_, first_link_;  // of each node
  std::vector<std::vector<VertexId>> nics_;                        // of each node
  std::vector<std::vector<Neighbour>> inside_;                     // by vertex: of its own node
  std::vector<std::vector<Neighbour>> outside_;                    // by vertex: all others
  using PathKey = std::pair<std::pair<int, int>, std::pair<std::size_t, std::size_t>>;
  mutable std::map<PathKey, LocalPath> paths_;
  mutable std::map<VertexId, std::vector<std::uint32_t>> distances_;  // over fabric switches
};

}  // namespace paceline::sim
