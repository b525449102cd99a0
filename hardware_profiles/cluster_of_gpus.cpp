#include <fmt/format.h>

#include <algorithm>

#include "hardware_profiles/cluster_file.hpp"

namespace paceline::hardware_profiles {
namespace {

/// Where cards go whose own default nodes have no empty slot.
constexpr auto node_for_mixed_cards = "workstation";

std::size_t empty_slots(const Node& node) {
  return static_cast<std::size_t>(std::count_if(
      node.devices.begin(), node.devices.end(),
      [](const NodeDevice& device) { return device.kind == DeviceKind::gpu && !device.gpu; }));
}

[[noreturn]] void refuse(const std::string& problem) {
  throw core::ConfigError("", "", problem + " (write a cluster file: hardware_profiles/clusters)");
}

NodeGroup node_of_one_card(const Gpu& card) {
  NodeGroup group;
  group.name = card.name;
  NodeDevice cpu;
  cpu.id = "cpu0";
  NodeDevice gpu;
  gpu.id = "gpu0";
  gpu.kind = DeviceKind::gpu;
  gpu.gpu = card.id;
  group.devices = std::vector<NodeDevice>{cpu, gpu};
  NodeLink link;
  link.between = {"gpu0", "cpu0"};
  link.bandwidth_gb_per_s = card.pcie.bandwidth_gb_per_s();
  group.links = std::vector<NodeLink>{link};
  return group;
}

/// The machine for these cards, and its cards if it has slots to fill.
NodeGroup group_for(const std::vector<Gpu>& cards, std::string_view profiles) {
  const Gpu& first = cards.front();
  const bool equal =
      std::all_of(cards.begin(), cards.end(), [&](const Gpu& card) { return card.id == first.id; });
  if (equal && !first.default_node) {
    if (cards.size() == 1) return node_of_one_card(first);
    refuse(fmt::format("{} cards {}: no node is usual for them", cards.size(), first.id));
  }
  NodeGroup group;
  if (equal) group.node = first.default_node;
  for (const Gpu& card : cards) {
    if (group.node || !card.default_node) continue;
    if (empty_slots(find_node(*card.default_node, profiles)) > 0) group.node = card.default_node;
  }
  if (!group.node) group.node = node_for_mixed_cards;
  const Node node = find_node(*group.node, profiles);
  if (const std::size_t empty = empty_slots(node); empty > 0) {
    if (cards.size() > empty) {
      refuse(fmt::format("{} cards do not go into \"{}\", which has {} slots", cards.size(),
                         node.id, empty));
    }
    for (const Gpu& card : cards) {
      if (!equal && card.form_factor == FormFactor::sxm) {
        refuse(fmt::format("{} is soldered to its board and does not go into \"{}\"", card.id,
                           node.id));
      }
      if (!group.gpus) group.gpus.emplace();
      group.gpus->push_back(card.id);
    }
    return group;
  }
  const auto held =
      std::count_if(node.devices.begin(), node.devices.end(),
                    [&](const NodeDevice& device) { return device.kind == DeviceKind::gpu; });
  if (cards.size() > static_cast<std::size_t>(held)) {
    refuse(fmt::format("{} cards {}: their usual node \"{}\" holds {}", cards.size(), first.id,
                       node.id, held));
  }
  return group;
}

}  // namespace

Cluster cluster_of_gpus(const std::vector<std::string>& cards, std::string_view profiles) {
  if (cards.empty()) refuse("a cluster without cards");
  const GpuCatalog catalog(profiles);
  core::Faults faults;
  const core::Cursor cursor("", faults);
  std::vector<Gpu> found;
  for (const std::string& card : cards) {
    const auto match = catalog.find(card);
    if (match.gpu == nullptr) {
      cursor.fault(match.problem);
    } else {
      found.push_back(*match.gpu);
    }
  }
  faults.throw_if_any();
  ClusterFile file;
  file.nodes.push_back(group_for(found, profiles));
  for (const Gpu& card : found) file.id += (file.id.empty() ? "" : "+") + card.id;
  file.name = file.nodes.front().node.value_or("one card");
  Cluster cluster = build_cluster(file, cursor, profiles);
  faults.throw_if_any();
  cluster.slots.resize(found.size());
  return cluster;
}

}  // namespace paceline::hardware_profiles
