#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "core/file.hpp"
#include "core/rates.hpp"
#include "hardware_profiles/cluster_file.hpp"
#include "hardware_profiles/gpu_fields.hpp"
#include "hardware_profiles/graph.hpp"
#include "hardware_profiles/node_fields.hpp"

namespace paceline::hardware_profiles {
namespace {

using core::Cursor;
using core::Json;

/// How the nodes of one group are laid out; vertices count from the node's first device.
struct Layout {
  Cursor cursor;  // at the object that has `devices` and `links`
  Sources sources;
  std::int64_t count = 1;
  std::vector<Slot> slots;
  std::vector<Link> links;
  std::vector<std::size_t> link_in_file;  // of each of `links`: its index in the node's list
  std::vector<std::size_t> nics;
};

constexpr double most_links = 16.0 * most_devices;

class ClusterBuilder {
 public:
  ClusterBuilder(const ClusterFile& file, const Cursor& cursor, std::string_view profiles)
      : file_(file),
        cursor_(cursor),
        profiles_(profiles),
        sources_(file.sources.value_or(Sources{})) {}

  Cluster build();

 private:
  [[nodiscard]] bool faulty() const { return !cursor_.faults().empty(); }

  // Nodes, each kind once.
  void read_group(std::size_t group);
  [[nodiscard]] std::optional<Node> node_file(const std::string& id, const Cursor& cursor);
  void fill_slots(Node& node, const std::vector<std::string>& cards, const Cursor& cursor);
  /// The id of a card, which becomes one of the cluster's.
  [[nodiscard]] std::string gpu_id(const std::string& name, const Cursor& cursor);
  void check_cpu_device(const std::string& id, const Cursor& cursor) const;
  [[nodiscard]] const GpuCatalog* catalog();
  void lay_out(const Node& node, Layout& layout);
  [[nodiscard]] Link link_of(const NodeLink& link, const Layout& layout) const;
  void limit_to_card(Link& link, const Node& node) const;

  // The graph.
  [[nodiscard]] bool has_room_for(std::size_t links, std::size_t points, std::int64_t nodes);
  void check_size();
  void place_nodes();
  void change_links();
  void add_fabric();
  void join_ports(const FabricLink& port);
  void add_spines(std::int64_t spines, const FabricLink& uplink,
                  const std::vector<VertexId>& leaves);
  void add_drawn_links(const std::vector<DrawnLink>& links);
  [[nodiscard]] VertexId add_switch(const std::string& name);
  void join_port(const FabricLink& port, int node, std::size_t nic, VertexId to);
  void add_fabric_link(VertexId a, VertexId b, double gbit_per_s, double latency_us, LinkKind kind,
                       bool latency_is_given, const std::optional<std::string>& source);
  [[nodiscard]] Certainty certainty(const std::optional<std::string>& source,
                                    const Sources& sources) const;
  void check_connected();

  [[nodiscard]] const Layout& layout(int node) const {
    return layouts_[static_cast<std::size_t>(
        cluster_.kind_of_node[static_cast<std::size_t>(node)])];
  }
  [[nodiscard]] const Node& node_of(int node) const {
    return cluster_.node_kinds[static_cast<std::size_t>(
        cluster_.kind_of_node[static_cast<std::size_t>(node)])];
  }

  const ClusterFile& file_;
  Cursor cursor_;
  std::string_view profiles_;
  Sources sources_;
  Cluster cluster_;
  std::vector<Layout> layouts_;
  std::map<std::string, std::optional<Node>> node_files_;
  std::map<std::string, std::string> node_paths_;
  std::optional<GpuCatalog> catalog_;
  bool catalog_is_faulty_ = false;
  double links_ = 0;                       // and measured points, eight for a link
  std::vector<std::size_t> first_vertex_;  // of each node
  std::vector<std::size_t> first_link_;
  std::vector<const LinkChange*> port_changes_;  // of each node, or null
};

std::optional<Node> ClusterBuilder::node_file(const std::string& id, const Cursor& cursor) {
  const auto known = node_files_.find(id);
  if (known != node_files_.end()) return known->second;
  std::optional<Node>& node = node_files_[id];
  const auto path = find_profile("nodes", id, profiles_);
  if (!path) {
    cursor.at("node").fault(not_found_text("nodes", "node", id, profiles_));
    return node;
  }
  node_paths_[id] = path->string();
  const std::size_t faults_before = cursor.faults().size();
  Node read = read_node(*path, cursor.faults());
  if (cursor.faults().size() == faults_before) node = std::move(read);
  return node;
}

const GpuCatalog* ClusterBuilder::catalog() {
  if (!catalog_ && !catalog_is_faulty_) {
    try {
      catalog_.emplace(profiles_);
    } catch (const core::ConfigError& error) {
      catalog_is_faulty_ = true;
      for (const core::Fault& fault : error.faults()) cursor_.faults().add(fault);
    }
  }
  return catalog_ ? &*catalog_ : nullptr;
}

std::string ClusterBuilder::gpu_id(const std::string& name, const Cursor& cursor) {
  const GpuCatalog* cards = catalog();
  if (cards == nullptr) return name;
  const auto match = cards->find(name);
  if (match.gpu == nullptr) {
    cursor.fault("got " + core::shown(Json(name)) + ": " + match.problem);
    return name;
  }
  cluster_.gpus.emplace(match.gpu->id, *match.gpu);
  return match.gpu->id;
}

void ClusterBuilder::fill_slots(Node& node, const std::vector<std::string>& cards,
                                const Cursor& cursor) {
  std::size_t filled = 0;
  for (NodeDevice& device : node.devices) {
    if (device.kind != DeviceKind::gpu || device.gpu || filled == cards.size()) continue;
    device.gpu = gpu_id(cards[filled], cursor.at(filled));
    ++filled;
  }
  if (filled < cards.size()) {
    cursor.fault(fmt::format("got {} cards (the node has {} empty slots)", cards.size(), filled));
  }
}

void ClusterBuilder::check_cpu_device(const std::string& id, const Cursor& cursor) const {
  if (cluster_.cpu_devices.contains(id)) return;
  std::vector<std::string> ids;
  ids.reserve(cluster_.cpu_devices.size());
  for (const auto& [known, device] : cluster_.cpu_devices) ids.push_back(known);
  const std::string near = core::nearest(id, ids);
  cursor.fault("got " + core::shown(Json(id)) + ", which is not in the cluster's `cpu_devices`" +
               (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
}

void ClusterBuilder::read_group(std::size_t group) {
  const NodeGroup& from = file_.nodes[group];
  const Cursor cursor = cursor_.at("nodes").at(group);
  Node node;
  Layout layout{cursor, sources_, from.count, {}, {}, {}, {}};
  if (from.node) {
    auto read = node_file(*from.node, cursor);
    if (!read) return;
    node = std::move(*read);
    layout.cursor = Cursor(node_paths_[*from.node], cursor.faults());
    layout.sources = node.sources;
  } else if (from.devices) {
    node.name = from.name.value_or("node" + std::to_string(group));
    node.cpu = from.cpu;
    node.memory_gib = from.memory_gib;
    node.peer_to_peer_over_pcie = from.peer_to_peer_over_pcie;
    node.devices = *from.devices;
    node.links = from.links.value_or(std::vector<NodeLink>{});
    check_node(node, cursor);
    settle_node(node, layout.sources);
  }
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    NodeDevice& device = node.devices[i];
    const Cursor at = layout.cursor.at("devices").at(i);
    if (device.gpu) device.gpu = gpu_id(*device.gpu, at.at("gpu"));
    if (device.cpu_device) check_cpu_device(*device.cpu_device, at.at("cpu_device"));
  }
  if (from.gpus) fill_slots(node, *from.gpus, cursor.at("gpus"));
  if (!faulty()) lay_out(node, layout);
  layouts_.push_back(std::move(layout));
  cluster_.node_kinds.push_back(std::move(node));
}

Certainty ClusterBuilder::certainty(const std::optional<std::string>& source,
                                    const Sources& sources) const {
  if (source) return certainty_of(*source, sources);
  return Certainty::assumed;
}

Link ClusterBuilder::link_of(const NodeLink& from, const Layout& layout) const {
  Link link;
  link.kind = core::spelling(from.kind);
  const Certainty stated = certainty(from.source, layout.sources);
  link.bandwidth_certainty = stated;
  link.latency_certainty = from.latency_us ? stated : Certainty::assumed;
  double latency_us = from.latency_us.value_or(default_latency_us(from.kind));
  if (from.measured) {
    link.measured = *from.measured;
    const ExchangePoint& largest = link.measured.back();
    const auto shortest = std::min_element(
        link.measured.begin(), link.measured.end(),
        [](const ExchangePoint& a, const ExchangePoint& b) { return a.time_us < b.time_us; });
    if (!from.latency_us) {
      latency_us = shortest->time_us;
      link.latency_certainty = Certainty::measured;
    }
    if (!from.bandwidth_gb_per_s) {
      link.bandwidth =
          core::ByteRate(static_cast<double>(largest.bytes.value()) / (largest.time_us * 1e-6));
      link.bandwidth_certainty = Certainty::measured;
    }
  }
  if (from.bandwidth_gb_per_s) link.bandwidth = core::gb_per_s(*from.bandwidth_gb_per_s);
  link.latency = core::Time::from_us(latency_us);
  return link;
}

/// A card with fewer lanes or an older generation than its slot sets the rate.
void ClusterBuilder::limit_to_card(Link& link, const Node& node) const {
  if (link.kind != core::spelling(LinkKind::pcie)) return;
  for (const VertexId end : {link.a, link.b}) {
    const NodeDevice& device = node.devices[end.index()];
    if (!device.gpu) continue;
    const Pcie& card = cluster_.gpus.at(*device.gpu).pcie;
    const core::ByteRate rate = core::gb_per_s(card.bandwidth_gb_per_s());
    if (rate < link.bandwidth) {
      link.bandwidth = rate;
      link.bandwidth_certainty = card.certainty;
    }
  }
}

void ClusterBuilder::lay_out(const Node& node, Layout& layout) {
  std::map<std::string, std::size_t> index;
  std::vector<std::size_t> cpu_ranks;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const NodeDevice& device = node.devices[i];
    index[device.id] = i;
    if (device.kind == DeviceKind::nic) layout.nics.push_back(i);
    if (device.cpu_device) {
      cpu_ranks.push_back(i);
      layout.slots.push_back({VertexId(i), 0, *device.cpu_device, {}});
    } else if (device.gpu) {
      layout.slots.push_back({VertexId(i), 0, {}, *device.gpu});
    }
  }
  const auto add = [&](Link link, std::size_t a, std::size_t b, std::size_t in_file) {
    link.a = VertexId(a);
    link.b = VertexId(b);
    limit_to_card(link, node);
    layout.links.push_back(std::move(link));
    layout.link_in_file.push_back(in_file);
  };
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const NodeLink& from = node.links[i];
    const Link link = link_of(from, layout);
    if (from.between.size() == 2) {
      if (!has_room_for(1, link.measured.size(), layout.count)) return;
      add(link, index.at(from.between[0]), index.at(from.between[1]), i);
      continue;
    }
    constexpr std::size_t most_paired_ranks = 2048;
    if (cpu_ranks.size() > most_paired_ranks) {
      layout.cursor.at("links").at(i).at("between").fault(
          fmt::format("joins {} ranks in pairs (at most {})", cpu_ranks.size(), most_paired_ranks));
      continue;
    }
    const std::size_t pairs = cpu_ranks.size() * (cpu_ranks.size() - 1) / 2;
    if (!has_room_for(pairs, link.measured.size(), layout.count)) return;
    for (std::size_t a = 0; a < cpu_ranks.size(); ++a) {
      for (std::size_t b = a + 1; b < cpu_ranks.size(); ++b)
        add(link, cpu_ranks[a], cpu_ranks[b], i);
    }
  }
}

/// Counts links before they are made: a few words may ask for very many.
bool ClusterBuilder::has_room_for(std::size_t links, std::size_t points, std::int64_t nodes) {
  const double each = 1 + static_cast<double>(points) / 8;
  links_ += static_cast<double>(links) * each * static_cast<double>(nodes);
  if (links_ <= most_links) return true;
  if (!faulty()) {
    cursor_.at("nodes").fault(
        fmt::format("hold more links and measured points than fit (at most {:.0f})", most_links));
  }
  return false;
}

void ClusterBuilder::check_size() {
  double devices = 0;
  std::size_t slots = 0;
  for (std::size_t i = 0; i < layouts_.size(); ++i) {
    devices += static_cast<double>(layouts_[i].count) *
               static_cast<double>(cluster_.node_kinds[i].devices.size());
    slots += layouts_[i].slots.size();
  }
  if (devices > static_cast<double>(most_devices)) {
    cursor_.at("nodes").fault(
        fmt::format("hold {:.0f} devices (at most {})", devices, most_devices));
  }
  if (slots == 0) {
    cursor_.at("nodes").fault(
        "hold no device that a rank can run on (give a gpu with a card, or a cpu_rank)");
  }
}

void ClusterBuilder::place_nodes() {
  for (std::size_t kind = 0; kind < layouts_.size(); ++kind) {
    const Layout& from = layouts_[kind];
    for (std::int64_t i = 0; i < from.count; ++i) {
      const auto node = static_cast<int>(cluster_.kind_of_node.size());
      const std::size_t vertex = cluster_.vertices.size();
      cluster_.kind_of_node.push_back(static_cast<int>(kind));
      first_vertex_.push_back(vertex);
      first_link_.push_back(cluster_.links.size());
      for (const NodeDevice& device : cluster_.node_kinds[kind].devices) {
        cluster_.vertices.push_back({fmt::format("node{}/{}", node, device.id), node,
                                     std::string(core::spelling(device.kind))});
      }
      for (Slot slot : from.slots) {
        slot.vertex = VertexId(vertex + slot.vertex.index());
        slot.node = node;
        cluster_.slots.push_back(std::move(slot));
      }
      for (Link link : from.links) {
        link.a = VertexId(vertex + link.a.index());
        link.b = VertexId(vertex + link.b.index());
        cluster_.links.push_back(std::move(link));
      }
    }
  }
}

core::ByteRate rate_of(const LinkChange& change, core::ByteRate otherwise) {
  if (change.bandwidth_gbit_per_s) return core::gbit_per_s(*change.bandwidth_gbit_per_s);
  if (change.bandwidth_gb_per_s) return core::gb_per_s(*change.bandwidth_gb_per_s);
  return otherwise;
}

void ClusterBuilder::change_links() {
  port_changes_.assign(cluster_.kind_of_node.size(), nullptr);
  if (!file_.overrides) return;
  for (std::size_t i = 0; i < file_.overrides->size(); ++i) {
    const Override& change = (*file_.overrides)[i];
    const auto node = static_cast<std::size_t>(change.node);
    if (!change.between) {
      port_changes_[node] = &change.link;
      continue;
    }
    const Layout& from = layout(static_cast<int>(node));
    const auto& devices = node_of(static_cast<int>(node)).devices;
    bool found = false;
    for (std::size_t l = 0; l < from.links.size(); ++l) {
      const std::set<std::string> ends{devices[from.links[l].a.index()].id,
                                       devices[from.links[l].b.index()].id};
      if (ends != std::set<std::string>(change.between->begin(), change.between->end())) continue;
      found = true;
      Link& link = cluster_.links[first_link_[node] + l];
      const Certainty stated = certainty(change.source, sources_);
      if (rate_of(change.link, link.bandwidth) != link.bandwidth) {
        link.bandwidth = rate_of(change.link, link.bandwidth);
        link.bandwidth_certainty = stated;
      }
      if (change.link.latency_us) {
        link.latency = core::Time::from_us(*change.link.latency_us);
        link.latency_certainty = stated;
      }
    }
    if (!found) {
      cursor_.at("overrides")
          .at(i)
          .at("between")
          .fault(fmt::format("got {} and {}, which no link of node {} joins", (*change.between)[0],
                             (*change.between)[1], change.node));
    }
  }
}

VertexId ClusterBuilder::add_switch(const std::string& name) {
  cluster_.vertices.push_back({"fabric/" + name, -1, "switch"});
  return VertexId(cluster_.vertices.size() - 1);
}

void ClusterBuilder::add_fabric_link(VertexId a, VertexId b, double gbit_per_s, double latency_us,
                                     LinkKind kind, bool latency_is_given,
                                     const std::optional<std::string>& source) {
  Link link;
  link.a = a;
  link.b = b;
  link.kind = core::spelling(kind);
  link.bandwidth = core::gbit_per_s(gbit_per_s);
  link.latency = core::Time::from_us(latency_us);
  link.bandwidth_certainty = certainty(source, sources_);
  link.latency_certainty = latency_is_given ? link.bandwidth_certainty : Certainty::assumed;
  cluster_.links.push_back(std::move(link));
}

void ClusterBuilder::join_port(const FabricLink& port, int node, std::size_t nic, VertexId to) {
  const LinkChange* change = port_changes_[static_cast<std::size_t>(node)];
  double gbit_per_s = port.bandwidth_gbit_per_s;
  std::optional<double> latency_us = port.latency_us;
  if (change != nullptr) {
    gbit_per_s = rate_of(*change, core::gbit_per_s(gbit_per_s)).value() * 8e-9;
    if (change->latency_us) latency_us = change->latency_us;
  }
  const NodeDevice& device = node_of(node).devices[nic];
  gbit_per_s = std::min(gbit_per_s, device.bandwidth_gbit_per_s.value_or(gbit_per_s));
  const VertexId from(first_vertex_[static_cast<std::size_t>(node)] + nic);
  add_fabric_link(from, to, gbit_per_s, latency_us.value_or(default_latency_us(port.kind)) / 2,
                  port.kind, latency_us.has_value(), file_.fabric.source);
}

/// An uplink spans from switch to switch: its latency is its own.
constexpr double default_uplink_latency_us = 0.5;

void ClusterBuilder::add_spines(std::int64_t spines, const FabricLink& uplink,
                                const std::vector<VertexId>& leaves) {
  if (leaves.size() < 2) return;
  if (static_cast<double>(leaves.size()) * static_cast<double>(spines) > most_links) {
    cursor_.at("fabric").at("spines").fault(fmt::format(
        "got {} with {} leaves (at most {:.0f} uplinks)", spines, leaves.size(), most_links));
    return;
  }
  for (std::int64_t i = 0; i < spines; ++i) {
    const VertexId spine = add_switch("spine" + std::to_string(i));
    for (const VertexId leaf : leaves) {
      add_fabric_link(leaf, spine, uplink.bandwidth_gbit_per_s,
                      uplink.latency_us.value_or(default_uplink_latency_us), uplink.kind,
                      uplink.latency_us.has_value(), file_.fabric.source);
    }
  }
}

void ClusterBuilder::join_ports(const FabricLink& port) {
  const Fabric& fabric = file_.fabric;
  const std::int64_t nodes_per_leaf = fabric.nodes_per_leaf.value_or(1);
  const auto nodes = static_cast<int>(cluster_.kind_of_node.size());
  std::vector<VertexId> leaves;  // for single_switch one, which is called otherwise
  const auto leaf = [&](std::size_t index) {
    while (leaves.size() <= index) {
      leaves.push_back(add_switch(fabric.kind == FabricKind::single_switch
                                      ? "switch"
                                      : "leaf" + std::to_string(leaves.size())));
    }
    return leaves[index];
  };
  for (int node = 0; node < nodes; ++node) {
    const auto& nics = layout(node).nics;
    for (std::size_t k = 0; k < nics.size(); ++k) {
      std::size_t index = 0;
      if (fabric.kind == FabricKind::rail_optimized) index = k;
      if (fabric.kind == FabricKind::leaf_spine) {
        index = static_cast<std::size_t>(node / nodes_per_leaf);
      }
      join_port(port, node, nics[k], leaf(index));
    }
  }
  if (fabric.kind == FabricKind::leaf_spine) {
    add_spines(fabric.spines.value_or(1), fabric.uplink.value_or(port), leaves);
  } else if (fabric.kind == FabricKind::rail_optimized) {
    const FabricLink full_bisection{port.bandwidth_gbit_per_s * nodes, std::nullopt, port.kind};
    add_spines(1, fabric.uplink.value_or(full_bisection), leaves);
  }
}

void ClusterBuilder::add_fabric() {
  const Fabric& fabric = file_.fabric;
  if (fabric.links) add_drawn_links(*fabric.links);
  if (!fabric.link) return;
  for (std::size_t group = 0; group < layouts_.size(); ++group) {
    if (cluster_.kind_of_node.size() > 1 && layouts_[group].nics.empty()) {
      cursor_.at("nodes").at(group).fault(
          "has no device of kind nic (by which the fabric joins its nodes)");
    }
  }
  join_ports(*fabric.link);
}

void ClusterBuilder::add_drawn_links(const std::vector<DrawnLink>& links) {
  const Fabric& fabric = file_.fabric;
  std::unordered_map<std::string, VertexId> named;
  for (std::size_t i = 0; i < cluster_.vertices.size(); ++i) {
    named.emplace(cluster_.vertices[i].name, VertexId(i));
  }
  for (const std::string& id : fabric.switches.value_or(std::vector<std::string>{})) {
    named.emplace(id, add_switch(id));
  }
  const auto vertex = [&](const std::string& name, const Cursor& cursor) {
    const auto found = named.find(name);
    if (found != named.end()) return found->second;
    cursor.fault("got " + core::shown(Json(name)) +
                 " (must be one of `switches`, or a device as node0/nic0)");
    return VertexId();
  };
  for (std::size_t i = 0; i < links.size(); ++i) {
    const DrawnLink& link = links[i];
    const Cursor at = cursor_.at("fabric").at("links").at(i).at("between");
    const VertexId a = vertex(link.between[0], at.at(0));
    const VertexId b = vertex(link.between[1], at.at(1));
    if (!a.valid() || !b.valid()) continue;
    if (a == b) {
      at.fault("got " + core::shown(Json(link.between[0])) + " twice (a link joins two)");
      continue;
    }
    add_fabric_link(a, b, link.bandwidth_gbit_per_s,
                    link.latency_us.value_or(default_latency_us(link.kind) / 2), link.kind,
                    link.latency_us.has_value(), link.source ? link.source : fabric.source);
  }
}

void ClusterBuilder::check_connected() {
  const std::vector<int> parts = parts_of(cluster_);
  const bool joined = cluster_.kind_of_node.size() == 1 || file_.fabric.link ||
                      file_.fabric.kind == FabricKind::graph;
  std::set<std::pair<int, std::size_t>> told;  // each device of a kind of node once
  const Slot* first = nullptr;
  for (const Slot& slot : cluster_.slots) {
    if (first == nullptr || (!joined && first->node != slot.node)) first = &slot;
    if (parts[slot.vertex.index()] == parts[first->vertex.index()]) continue;
    const std::size_t device =
        slot.vertex.index() - first_vertex_[static_cast<std::size_t>(slot.node)];
    const int kind = cluster_.kind_of_node[static_cast<std::size_t>(slot.node)];
    if (!told.emplace(kind, device).second) continue;
    layout(slot.node).cursor.at("devices").at(device).fault(
        "no way from " + cluster_.vertices[slot.vertex.index()].name + " to " +
        cluster_.vertices[first->vertex.index()].name + " (give the links that join them)");
  }
}

Cluster ClusterBuilder::build() {
  cluster_.id = file_.id;
  cluster_.name = file_.name;
  cluster_.provenance = file_.provenance.value_or(std::map<std::string, std::string>{});
  cluster_.cpu_devices = file_.cpu_devices.value_or(std::map<std::string, CpuDevice>{});
  for (auto& [id, device] : cluster_.cpu_devices) device.id = id;
  cluster_.measured_collectives =
      file_.measured_collectives.value_or(std::vector<MeasuredCollective>{});
  for (std::size_t group = 0; group < file_.nodes.size(); ++group) read_group(group);
  if (faulty()) return {};
  check_size();
  if (faulty()) return {};
  place_nodes();
  change_links();
  add_fabric();
  if (faulty()) return {};
  check_connected();
  return std::move(cluster_);
}

}  // namespace

Cluster build_cluster(const ClusterFile& file, const Cursor& cursor, std::string_view profiles) {
  return ClusterBuilder(file, cursor, profiles).build();
}

}  // namespace paceline::hardware_profiles
