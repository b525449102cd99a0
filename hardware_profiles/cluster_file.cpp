#include "hardware_profiles/cluster_file.hpp"

#include <set>

#include "hardware_profiles/node_fields.hpp"
#include "hardware_profiles/ranges.hpp"
#include "hardware_profiles/sourced_fields.hpp"

namespace paceline::hardware_profiles {
namespace {

using core::Cursor;
using core::FieldTable;

const FieldTable<KernelModel>& kernel_fields() {
  static const FieldTable<KernelModel> table = [] {
    FieldTable<KernelModel> fields;
    fields.required("us_per_feature", &KernelModel::us_per_feature,
                    core::dictionary(core::number(latency_us_range)),
                    "microseconds for each unit of a feature");
    fields.required("residual", &KernelModel::residual, core::number(core::not_negative),
                    "standard deviation of log(measured / model)");
    fields.required("rows", &KernelModel::rows, core::integer<std::int64_t>({.min = 0}),
                    "measurements that it was fitted to");
    return fields;
  }();
  return table;
}

const FieldTable<CpuLevel>& level_fields() {
  static const FieldTable<CpuLevel> table = [] {
    FieldTable<CpuLevel> fields;
    fields.required("active_ranks", &CpuLevel::active_ranks,
                    core::integer<int>({.min = 1, .max = most_devices}),
                    "ranks of the host that compute at the same time");
    fields.required("reference_gflop_per_s", &CpuLevel::reference_gflop_per_s,
                    core::number(gflop_per_s_range),
                    "of the reference product while it was measured, 1e9 FLOP/s");
    fields.required("kernels", &CpuLevel::kernels, core::dictionary(core::record(kernel_fields())),
                    "times by kernel class");
    return fields;
  }();
  return table;
}

const FieldTable<CpuDevice>& cpu_device_fields() {
  static const FieldTable<CpuDevice> table = [] {
    using D = CpuDevice;
    const auto time = core::number(latency_us_range);
    FieldTable<D> fields;
    fields.required("name", &D::name, core::text(), "for people");
    fields.required("threads", &D::threads, core::integer<int>({.min = 1, .max = 65536}),
                    "of each rank");
    fields.required("host_issue_us", &D::host_issue_us, time,
                    "to issue one operation, microseconds");
    fields.required("memory_gib", &D::memory_gib, core::number(memory_gib_range),
                    "of the host, for all its ranks, 2^30 bytes");
    fields.required("reduction_us_per_call", &D::reduction_us_per_call, time,
                    "adding a received slice: microseconds a call");
    fields.required("reduction_us_per_byte", &D::reduction_us_per_byte, time,
                    "adding a received slice: microseconds a byte");
    fields.required("levels", &D::levels, core::list(core::record(level_fields()), 0, 65536),
                    "by number of ranks that compute at the same time, rising; none before "
                    "calibration");
    fields.check([](const D& device, const Cursor& cursor) {
      for (std::size_t i = 1; i < device.levels.size(); ++i) {
        const int before = device.levels[i - 1].active_ranks;
        const int here = device.levels[i].active_ranks;
        if (here > before) continue;
        cursor.at("levels")
            .at(i)
            .at("active_ranks")
            .fault("got " + std::to_string(here) + " after " + std::to_string(before) +
                   " (must rise)");
      }
    });
    return fields;
  }();
  return table;
}

const FieldTable<NodeGroup>& group_fields() {
  static const FieldTable<NodeGroup> table = [] {
    using G = NodeGroup;
    FieldTable<G> fields;
    fields.optional("node", &G::node, core::text(), "a node file; or write the node here");
    fields.defaulted(
        "count", &G::count,
        core::integer<std::int64_t>(
            {.min = 1, .max = most_devices, .limit = "more nodes than any cluster has"}),
        "equal nodes");
    fields.optional("gpus", &G::gpus, core::list(core::text(), 1, 4096),
                    "cards for the empty slots of each node, in order");
    fields.optional("name", &G::name, core::text(), "of a node written here");
    fields.optional("cpu", &G::cpu, core::record(node_cpu_fields()), "of a node written here");
    fields.optional("memory_gib", &G::memory_gib, sourced(core::number(memory_gib_range)),
                    "of a node written here");
    fields.optional("peer_to_peer_over_pcie", &G::peer_to_peer_over_pcie, sourced(core::boolean()),
                    "of a node written here");
    fields.optional("devices", &G::devices, devices_value(), "of a node written here");
    fields.optional("links", &G::links, links_value(), "of a node written here");
    return fields;
  }();
  return table;
}

constexpr auto latency_of_a_link = "one way; without it the default of its kind";

const FieldTable<FabricLink>& fabric_link_fields() {
  static const FieldTable<FabricLink> table = [] {
    using L = FabricLink;
    FieldTable<L> fields;
    fields.defaulted("kind", &L::kind, core::word<LinkKind>(), "what it is");
    fields.required("bandwidth_gbit_per_s", &L::bandwidth_gbit_per_s,
                    core::number(gbit_per_s_range), "1e9 bit/s, each direction");
    fields.optional("latency_us", &L::latency_us, core::number(latency_us_range),
                    "of a port: a short message from node to node, half of it at each port; "
                    "of an uplink: that link; without it the default of its kind");
    return fields;
  }();
  return table;
}

const FieldTable<DrawnLink>& drawn_link_fields() {
  static const FieldTable<DrawnLink> table = [] {
    using L = DrawnLink;
    FieldTable<L> fields;
    fields.required("between", &L::between, core::list(core::text(), 2, 2),
                    "switches, or devices as node0/nic0");
    fields.defaulted("kind", &L::kind, core::word<LinkKind>(), "what it is");
    fields.required("bandwidth_gbit_per_s", &L::bandwidth_gbit_per_s,
                    core::number(gbit_per_s_range), "1e9 bit/s, each direction");
    fields.optional("latency_us", &L::latency_us, core::number(latency_us_range),
                    latency_of_a_link);
    fields.optional("source", &L::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

const FieldTable<Fabric>& fabric_fields() {
  static const FieldTable<Fabric> table = [] {
    using F = Fabric;
    const auto some = core::integer<std::int64_t>({.min = 1, .max = most_devices});
    FieldTable<F> fields;
    fields.required("kind", &F::kind, core::word<FabricKind>(), "how nodes are joined");
    fields.optional("link", &F::link, core::record(fabric_link_fields()),
                    "the port of each nic; without it only runs within a node can be predicted");
    fields.optional("nodes_per_leaf", &F::nodes_per_leaf, some, "of leaf_spine");
    fields.optional("spines", &F::spines, some, "of leaf_spine");
    fields.optional("uplink", &F::uplink, core::record(fabric_link_fields()),
                    "from each leaf to each spine; of rail_optimized: to the spine, full "
                    "bisection if left out");
    fields.optional("switches", &F::switches, core::list(device_id_value(), 0, most_devices),
                    "of graph: ids");
    fields.optional("links", &F::links,
                    core::list(core::record(drawn_link_fields()), 1, 4 * most_devices), "of graph");
    fields.optional("source", &F::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

const FieldTable<LinkChange>& link_change_fields() {
  static const FieldTable<LinkChange> table = [] {
    using C = LinkChange;
    FieldTable<C> fields;
    fields.optional("bandwidth_gbit_per_s", &C::bandwidth_gbit_per_s,
                    core::number(gbit_per_s_range), "1e9 bit/s, each direction");
    fields.optional("bandwidth_gb_per_s", &C::bandwidth_gb_per_s, core::number(gb_per_s_range),
                    "1e9 bytes/s, each direction");
    fields.optional("latency_us", &C::latency_us, core::number(latency_us_range),
                    "as in the link it replaces");
    fields.check([](const C& change, const Cursor& cursor) {
      if (change.bandwidth_gbit_per_s && change.bandwidth_gb_per_s) {
        cursor.fault("has two rates (give bandwidth_gbit_per_s or bandwidth_gb_per_s)");
      } else if (!change.bandwidth_gbit_per_s && !change.bandwidth_gb_per_s && !change.latency_us) {
        cursor.fault("changes nothing (give a rate or latency_us)");
      }
    });
    return fields;
  }();
  return table;
}

const FieldTable<Override>& override_fields() {
  static const FieldTable<Override> table = [] {
    using O = Override;
    FieldTable<O> fields;
    fields.required("node", &O::node, core::integer<std::int64_t>({.min = 0, .max = most_devices}),
                    "counted from 0 over all groups");
    fields.optional("between", &O::between, core::list(core::text(), 2, 2),
                    "two devices of the node; without it the node's ports");
    fields.required("link", &O::link, core::record(link_change_fields()), "what differs");
    fields.optional("source", &O::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

}  // namespace

const FieldTable<ClusterFile>& cluster_fields() {
  static const FieldTable<ClusterFile> table = [] {
    using C = ClusterFile;
    FieldTable<C> fields;
    fields.document("cluster");
    fields.required("id", &C::id, core::text(), "usually the file's name");
    fields.required("name", &C::name, core::text(), "for people");
    fields.optional("sources", &C::sources, sources_value(), "where numbers come from");
    fields.required("nodes", &C::nodes, core::list(core::record(group_fields()), 1, most_devices),
                    "groups of equal nodes, in rank order");
    fields.defaulted("fabric", &C::fabric, core::record(fabric_fields()), "between the nodes");
    fields.optional("overrides", &C::overrides,
                    core::list(core::record(override_fields()), 0, 4 * most_devices),
                    "exceptions, one line each");
    fields.optional("cpu_devices", &C::cpu_devices,
                    core::dictionary(core::record(cpu_device_fields())),
                    "what runs in slots of kind cpu_rank");
    fields.optional("provenance", &C::provenance, core::dictionary(core::text()),
                    "how the file was made; no part of its identity");
    return fields;
  }();
  return table;
}

namespace {

void check_group(const NodeGroup& group, const Cursor& cursor) {
  if (!group.node) {
    if (!group.devices) {
      cursor.fault("names no node (give \"node\", or write one with \"devices\" and \"links\")");
    }
    return;
  }
  const auto only_inline = [&](bool given, const char* key) {
    if (given) cursor.at(key).fault("stands beside \"node\" (it belongs to a node written here)");
  };
  only_inline(group.name.has_value(), "name");
  only_inline(group.cpu.has_value(), "cpu");
  only_inline(group.memory_gib.has_value(), "memory_gib");
  only_inline(group.peer_to_peer_over_pcie.has_value(), "peer_to_peer_over_pcie");
  only_inline(group.devices.has_value(), "devices");
  only_inline(group.links.has_value(), "links");
}

void check_fabric(const Fabric& fabric, const Cursor& cursor) {
  using enum FabricKind;
  const std::string kind(core::spelling(fabric.kind));
  const auto belongs = [&](bool given, const char* key, const std::set<FabricKind>& owners,
                           bool is_required) {
    const bool owned = owners.contains(fabric.kind);
    if (given && !owned) cursor.at(key).fault("does not belong to a fabric of kind " + kind);
    if (!given && owned && is_required) {
      cursor.fault("the key \"" + std::string(key) + "\" is missing (" + kind + " needs it)");
    }
  };
  belongs(fabric.link.has_value(), "link", {single_switch, leaf_spine, rail_optimized}, false);
  belongs(fabric.nodes_per_leaf.has_value(), "nodes_per_leaf", {leaf_spine}, true);
  belongs(fabric.spines.has_value(), "spines", {leaf_spine}, true);
  belongs(fabric.uplink.has_value(), "uplink", {leaf_spine, rail_optimized},
          fabric.kind == leaf_spine);
  belongs(fabric.switches.has_value(), "switches", {graph}, false);
  belongs(fabric.links.has_value(), "links", {graph}, true);
  std::set<std::string> ids;
  const auto switches = fabric.switches.value_or(std::vector<std::string>{});
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (switches[i].empty() || ids.insert(switches[i]).second) continue;
    cursor.at("switches")
        .at(i)
        .fault("got " + core::shown(core::Json(switches[i])) +
               ", which is given twice (ids must differ)");
  }
}

}  // namespace

void check_cluster_file(const ClusterFile& file, const Cursor& cursor) {
  const FaultyPlaces faulty(cursor);
  std::int64_t nodes = 0;
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    const Cursor at = cursor.at("nodes").at(i);
    if (!faulty.at(at)) check_group(file.nodes[i], at);
    nodes = std::min(nodes + file.nodes[i].count, most_devices);
  }
  const bool nodes_are_faulty = faulty.at(cursor.at("nodes"));
  const bool fabric_is_faulty = faulty.at(cursor.at("fabric"));
  if (!fabric_is_faulty) check_fabric(file.fabric, cursor.at("fabric"));
  if (!fabric_is_faulty && nodes > 1 && file.fabric.kind == FabricKind::none) {
    cursor.at("fabric").at("kind").fault(
        "got \"none\" with " + std::to_string(nodes) +
        " nodes (must be single_switch, leaf_spine, rail_optimized or graph)");
  }
  const auto overrides = file.overrides.value_or(std::vector<Override>{});
  for (std::size_t i = 0; i < overrides.size(); ++i) {
    const Cursor at = cursor.at("overrides").at(i);
    if (faulty.at(at)) continue;
    if (overrides[i].node >= nodes && !nodes_are_faulty) {
      at.at("node").fault("got " + std::to_string(overrides[i].node) + " (must be < " +
                          std::to_string(nodes) + ": nodes count from 0 over all groups)");
    }
    const bool has_ports = file.fabric.link.has_value() || fabric_is_faulty;
    if (!overrides[i].between && !has_ports) {
      at.fault("changes a port, but the fabric states none (give fabric/link, or \"between\")");
    }
  }
}

}  // namespace paceline::hardware_profiles
