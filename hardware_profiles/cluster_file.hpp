#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "hardware_profiles/cluster.hpp"

/// A cluster file as it is written (clusters/README.md: keys and units), before its nodes are
/// looked up and laid out as a graph.
namespace paceline::hardware_profiles {

/// `count` equal nodes: a node file by id, or one written here.
struct NodeGroup {
  std::optional<std::string> node;
  std::int64_t count = 1;
  std::optional<std::vector<std::string>> gpus;  // cards for the empty slots of each node
  std::optional<std::string> name;
  std::optional<NodeCpu> cpu;
  std::optional<Sourced<double>> memory_gib;
  std::optional<Sourced<bool>> peer_to_peer_over_pcie;
  std::optional<std::vector<NodeDevice>> devices;
  std::optional<std::vector<NodeLink>> links;
};

enum class FabricKind : std::uint8_t { none, single_switch, leaf_spine, rail_optimized, graph };

/// A port of the fabric, or a link inside it.
struct FabricLink {
  double bandwidth_gbit_per_s = 0;
  std::optional<double> latency_us;
  LinkKind kind = LinkKind::network;
};

/// A link of a fabric that is drawn by hand: between switches and `node<i>/<device>`.
struct DrawnLink {
  std::vector<std::string> between;
  double bandwidth_gbit_per_s = 0;
  std::optional<double> latency_us;
  LinkKind kind = LinkKind::network;
  std::optional<std::string> source;
};

struct Fabric {
  FabricKind kind = FabricKind::none;
  std::optional<FabricLink> link;
  std::optional<std::int64_t> nodes_per_leaf;
  std::optional<std::int64_t> spines;
  std::optional<FabricLink> uplink;
  std::optional<std::vector<std::string>> switches;
  std::optional<std::vector<DrawnLink>> links;
  std::optional<std::string> source;
};

/// What an override changes.
struct LinkChange {
  std::optional<double> bandwidth_gbit_per_s;
  std::optional<double> bandwidth_gb_per_s;
  std::optional<double> latency_us;
};

/// An exception for one node: its ports, or the link between two of its devices.
struct Override {
  std::int64_t node = 0;
  std::optional<std::vector<std::string>> between;
  LinkChange link;
  std::optional<std::string> source;
};

struct ClusterFile {
  std::string id;
  std::string name;
  std::optional<Sources> sources;
  std::optional<std::map<std::string, CpuDevice>> cpu_devices;
  std::vector<NodeGroup> nodes;
  Fabric fabric;
  std::optional<std::vector<Override>> overrides;
  std::optional<std::vector<MeasuredCollective>> measured_collectives;
  std::optional<std::map<std::string, std::string>> provenance;
};

[[nodiscard]] const core::FieldTable<ClusterFile>& cluster_fields();

/// Faults that the file shows by itself; `cursor` stands at its root.
void check_cluster_file(const ClusterFile& file, const core::Cursor& cursor);

/// Looks up nodes and cards and lays out the graph; every fault goes to `cursor`'s list, and then
/// the result is no cluster. `hash`, `origin` and `id` are the caller's.
[[nodiscard]] Cluster build_cluster(const ClusterFile& file, const core::Cursor& cursor,
                                    std::string_view profiles);

}  // namespace paceline::hardware_profiles

namespace paceline::core {

template <>
struct Spelling<hardware_profiles::FabricKind> {
  static constexpr std::array words{"none", "single_switch", "leaf_spine", "rail_optimized",
                                    "graph"};
};

}  // namespace paceline::core
