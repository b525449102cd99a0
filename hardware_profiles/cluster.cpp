#include "hardware_profiles/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/file.hpp"
#include "hardware_profiles/cluster_file.hpp"
#include "hardware_profiles/detected_cluster.hpp"
#include "hardware_profiles/gpu_fields.hpp"
#include "hardware_profiles/host_cpu.hpp"
#include "hardware_profiles/node_fields.hpp"

namespace paceline::hardware_profiles {
namespace {

/// Identity of what was read: comments, blanks, order of keys and provenance do not count.
std::string hash_of(ClusterFile file, const Cluster& cluster) {
  file.provenance.reset();
  std::string text = core::to_text(cluster_fields().write(file));
  for (const Node& node : cluster.node_kinds) {
    if (!node.id.empty()) text += core::to_text(node_fields().write(node));
  }
  for (const auto& [id, gpu] : cluster.gpus) text += core::to_text(gpu_fields().write(gpu));
  return core::hash_text(text);
}

Cluster cluster_from(const core::Json& document, const std::string& file,
                     std::string_view profiles) {
  core::Faults faults;
  const core::Cursor cursor(file, faults);
  ClusterFile written;
  cluster_fields().read(document, cursor, written);
  if (document.is_object()) {
    check_cluster_file(written, cursor);
    check_sources(document, cursor, written.sources.value_or(Sources{}));
  }
  Cluster cluster = build_cluster(written, cursor, profiles);
  faults.throw_if_any();
  cluster.hash = hash_of(std::move(written), cluster);
  cluster.origin = file;
  return cluster;
}

Cluster read_cluster(const std::filesystem::path& path, std::string_view profiles) {
  core::Faults faults;
  const core::Json document = core::read_json_file(path, core::Cursor(path.string(), faults));
  faults.throw_if_any();
  return cluster_from(document, path.string(), profiles);
}

const Slot& slot_of(const Cluster& cluster, int rank) {
  if (rank < 0 || static_cast<std::size_t>(rank) >= cluster.slots.size()) {
    throw core::ConfigError(
        cluster.origin, "",
        fmt::format("has no slot for rank {} (it has {} slots)", rank, cluster.slots.size()));
  }
  return cluster.slots[static_cast<std::size_t>(rank)];
}

}  // namespace

Cluster find_cluster(std::string_view reference, std::string_view profiles) {
  if (reference.find('/') != std::string_view::npos || reference.ends_with(".json")) {
    return read_cluster(std::filesystem::path(reference), profiles);
  }
  const auto path = find_profile("clusters", reference, profiles);
  if (!path && reference == "this_machine") {
    const auto found = detected_cpu_cluster(this_host(), usable_cores(), std::nullopt);
    return read_cluster_text(found.text, "this_machine (as detected)", profiles);
  }
  if (!path) {
    throw core::ConfigError("", "", not_found_text("clusters", "cluster", reference, profiles));
  }
  Cluster cluster = read_cluster(*path, profiles);
  cluster.id = reference;
  return cluster;
}

Cluster read_cluster_text(std::string_view text, const std::string& file,
                          std::string_view profiles) {
  core::Faults faults;
  const core::Json document = core::parse_json(text, core::Cursor(file, faults));
  faults.throw_if_any();
  return cluster_from(document, file, profiles);
}

std::string cpu_cluster_text(const CpuDevice& device, int ranks,
                             const std::vector<ExchangePoint>& exchanges,
                             const std::map<std::string, std::string>& provenance) {
  if (ranks < 1 || (ranks > 1 && exchanges.empty())) {
    throw core::ConfigError(
        "", "",
        fmt::format("a cluster of {} ranks with {} measured exchanges cannot be written (must be "
                    "1 rank or more, and several ranks need exchanges)",
                    ranks, exchanges.size()));
  }
  const std::string cpu_device = device.id.empty() ? "this_cpu" : device.id;
  NodeGroup node;
  node.name = device.name;
  node.devices.emplace();
  for (int rank = 0; rank < ranks; ++rank) {
    NodeDevice slot;
    slot.id = "rank" + std::to_string(rank);
    slot.kind = DeviceKind::cpu_rank;
    slot.cpu_device = cpu_device;
    node.devices->push_back(std::move(slot));
  }
  if (ranks > 1) {
    NodeLink link;
    link.between.assign(1, std::string(all_cpu_ranks));
    link.kind = LinkKind::shared_memory;
    link.measured = exchanges;
    std::sort(link.measured->begin(), link.measured->end(),
              [](const ExchangePoint& a, const ExchangePoint& b) { return a.bytes < b.bytes; });
    node.links.emplace().push_back(std::move(link));
  }
  ClusterFile file;
  file.id = "this_machine";
  file.name = fmt::format("{} x {}", ranks, device.name);
  file.nodes.push_back(std::move(node));
  file.cpu_devices.emplace()[cpu_device] = device;
  if (!provenance.empty()) file.provenance = provenance;
  return core::to_text(cluster_fields().write(file));
}

const CpuDevice& Cluster::device_of(int rank) const {
  const Slot& slot = slot_of(*this, rank);
  const auto found = cpu_devices.find(slot.device);
  if (found == cpu_devices.end()) {
    throw core::ConfigError(
        origin, "",
        fmt::format("the slot of rank {} is no CPU slot but {}", rank,
                    slot.gpu.empty() ? "\"" + slot.device + "\"" : "a " + slot.gpu));
  }
  if (found->second.levels.empty()) {
    throw core::ConfigError(
        origin, "/cpu_devices/" + found->first + "/levels",
        fmt::format("is empty: \"{}\" is not calibrated, so the times of its kernels and of "
                    "exchanges between its ranks are not known ({}; a profile of this machine's "
                    "GPUs: `paceline detect`)",
                    found->second.name, how_to_calibrate));
  }
  return found->second;
}

const Gpu& Cluster::gpu_of(int rank) const {
  const Slot& slot = slot_of(*this, rank);
  const auto found = gpus.find(slot.gpu);
  if (found == gpus.end()) {
    throw core::ConfigError(origin, "", fmt::format("the slot of rank {} holds no GPU", rank));
  }
  return found->second;
}

const Node& Cluster::node(int index) const {
  return node_kinds.at(static_cast<std::size_t>(kind_of_node.at(static_cast<std::size_t>(index))));
}

int Cluster::active_ranks_on_node(int node, int world_size) const {
  const auto ranks =
      std::clamp<std::int64_t>(world_size, 0, static_cast<std::int64_t>(slots.size()));
  return static_cast<int>(std::count_if(slots.begin(), slots.begin() + ranks,
                                        [&](const Slot& slot) { return slot.node == node; }));
}

bool Cluster::peer_to_peer_over_pcie(int rank) const {
  const auto& of_node = node(slot_of(*this, rank).node).peer_to_peer_over_pcie;
  return of_node ? of_node->value : gpu_of(rank).peer_to_peer_over_pcie.value;
}

std::vector<ProfileEntry> list_clusters(std::string_view profiles) {
  return list_profiles("clusters", "cluster", profiles);
}

std::string cluster_schema() { return core::to_text(cluster_fields().schema()); }

}  // namespace paceline::hardware_profiles
