#pragma once

#include <span>
#include <vector>

#include "core/quantity.hpp"
#include "sim/network/device_routes.hpp"

namespace paceline::sim {

/// One channel of a communicator: the order in which a ring visits the ranks (node after node), and
/// the part of the data that it carries.
struct Lane {
  std::vector<int> order;  // ranks
  double share = 1;
  std::vector<Way> ways;  // from order[i] to order[i + 1], the last to the first
};

/// What a pattern of traffic can reach: the rate of the busiest direction of a link over its load.
struct Bottleneck {
  core::ByteRate rate;
  DirectedLink link = 0;
};

/// The links that a communicator's collectives cross, with what they carry of payload.
///
/// Inside a node the ranks form one ring; where NVLinks join single pairs of GPUs (no switch), the
/// rings are those Hamiltonian cycles that together use the NVLinks best, searched as NCCL does.
/// Between nodes there is a lane for each NIC of a node (for each NIC next to a member, if not all
/// GPUs of the node take part); it enters a node at a GPU next to its NIC and leaves it through the
/// same NIC.
class GroupFabric {
 public:
  /// Ranks in any order, none twice; nodes count in the order in which they appear. Throws
  /// `core::ConfigError` if two have no way to each other, `core::InvariantError` without a rank.
  GroupFabric(const DeviceRoutes& routes, std::span<const int> ranks);

  [[nodiscard]] int members() const { return members_; }
  [[nodiscard]] int nodes() const { return static_cast<int>(by_node_.size()); }
  [[nodiscard]] const std::vector<Lane>& lanes() const { return lanes_; }
  /// The slowest kind of way inside the nodes; `same_device` if no node has two members.
  [[nodiscard]] WayKind kind_inside() const { return kind_inside_; }
  /// Every member's GPU hangs on an NVSwitch.
  [[nodiscard]] bool nvswitch() const { return nvswitch_; }
  /// Every way between nodes starts and ends in GPU memory.
  [[nodiscard]] bool gpu_direct() const { return gpu_direct_; }
  /// Longest of the ways between nodes, without what lies inside them.
  [[nodiscard]] core::Time fabric_latency() const { return fabric_latency_; }
  [[nodiscard]] int least_compute_capability() const { return least_compute_capability_; }
  [[nodiscard]] bool one_compute_capability() const { return one_compute_capability_; }

  /// Payload that a direction of a link carries.
  [[nodiscard]] core::ByteRate payload(DirectedLink link) const;

  /// Rate at which every member passes data to the next one of the ring, all lanes together.
  [[nodiscard]] Bottleneck ring_rate() const;
  /// Data reduced up and broadcast down double binary trees of nodes (in a node along the lane) in
  /// a second.
  [[nodiscard]] Bottleneck tree_rate() const;
  /// As `tree_rate`, only the links between nodes.
  [[nodiscard]] Bottleneck tree_rate_between_nodes() const;
  /// Rate at which every member sends, the same to each other member, all at once.
  [[nodiscard]] Bottleneck pairwise_rate() const;
  /// Data all-reduced by the NVSwitch in a second: per direction of a GPU's NVLink S + S / n.
  [[nodiscard]] Bottleneck nvls_rate() const;

 private:
  class Loads;

  void read_ranks(std::span<const int> ranks);
  [[nodiscard]] std::vector<std::vector<int>> rings_of(const std::vector<int>& ranks) const;
  void make_lanes();
  void make_ways(Lane& lane, std::size_t turn);
  [[nodiscard]] std::vector<hardware_profiles::VertexId> nics_for(std::size_t node) const;
  [[nodiscard]] std::vector<int> order_for(const std::vector<int>& ring,
                                           hardware_profiles::VertexId nic, std::size_t turn) const;
  [[nodiscard]] Way way_between_nodes(int from, int from_start, int to, std::size_t from_node,
                                      std::size_t to_node, std::size_t turn) const;
  void note_inside(const Way& way);
  void add_tree(Loads& loads) const;

  const DeviceRoutes& routes_;
  int members_ = 0;
  std::vector<std::vector<int>> by_node_;
  std::vector<std::vector<hardware_profiles::VertexId>> nics_;  // by node
  std::vector<Lane> lanes_;
  WayKind kind_inside_ = WayKind::same_device;
  bool nvswitch_ = true;
  bool gpu_direct_ = true;
  core::Time fabric_latency_;
  int least_compute_capability_ = 0;
  bool one_compute_capability_ = true;
};

/// Directed Hamiltonian cycles through all vertices of a graph whose edges carry
/// `capacity[i][j] = capacity[j][i]` in each direction, each of the same rate, so that their rates
/// sum to as much as a bounded search finds. Empty if there is none. For two vertices the one
/// cycle.
[[nodiscard]] std::vector<std::vector<int>> hamiltonian_cycles(
    const std::vector<std::vector<double>>& capacity);

}  // namespace paceline::sim
