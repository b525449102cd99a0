#include "hardware_profiles/node.hpp"

#include <map>

#include "hardware_profiles/node_fields.hpp"
#include "hardware_profiles/ranges.hpp"

namespace paceline::hardware_profiles {

using core::Cursor;
using core::FieldTable;
using core::Json;

double default_latency_us(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return 0.3;
    case LinkKind::pcie:
      return 0.5;
    case LinkKind::socket:
      return 0.3;
    case LinkKind::shared_memory:
      return 1;
    case LinkKind::network:
      return 5;
    case LinkKind::ethernet:
      return 25;
    case LinkKind::roce:
      return 5;
    case LinkKind::infiniband:
      return 2.5;
  }
  return 0;
}

FaultyPlaces::FaultyPlaces(const Cursor& cursor) {
  for (const core::Fault& fault : cursor.faults().list()) {
    if (fault.file == cursor.file()) pointers_.insert(fault.pointer);
  }
}

bool FaultyPlaces::at(const Cursor& cursor) const {
  if (pointers_.contains(cursor.pointer())) return true;
  const auto below = pointers_.lower_bound(cursor.pointer() + "/");
  return below != pointers_.end() && below->starts_with(cursor.pointer() + "/");
}

core::ValueType<std::string> device_id_value() {
  core::ValueType<std::string> type = core::text();
  type.read = [](const Json& json, const Cursor& cursor, std::string& id) {
    core::text().read(json, cursor, id);
    if (!json.is_string()) return;
    if (!id.empty() && id.find('/') == std::string::npos && id != all_cpu_ranks) return;
    cursor.fault("got " + core::shown(json) +
                 " (must not be empty, hold a slash or be all_cpu_ranks)");
    id.clear();
  };
  type.schema = [] {
    return Json{{"type", "string"}, {"pattern", "^[^/]+$"}, {"not", {{"const", all_cpu_ranks}}}};
  };
  return type;
}

const FieldTable<NodeCpu>& node_cpu_fields() {
  static const FieldTable<NodeCpu> table = [] {
    FieldTable<NodeCpu> fields;
    fields.required("sockets", &NodeCpu::sockets,
                    core::integer<std::int64_t>({.min = 1, .max = 1024}), "packages");
    fields.required("cores_per_socket", &NodeCpu::cores_per_socket,
                    core::integer<std::int64_t>({.min = 1, .max = 4096}), "physical cores");
    fields.required("source", &NodeCpu::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return table;
}

core::ValueType<std::vector<NodeDevice>> devices_value() {
  static const FieldTable<NodeDevice> table = [] {
    using D = NodeDevice;
    FieldTable<D> fields;
    fields.required("id", &D::id, device_id_value(), "once in its node; no slash");
    fields.required("kind", &D::kind, core::word<DeviceKind>(), "what it is");
    fields.optional("gpu", &D::gpu, core::text(),
                    "of a gpu: a gpu file; without it an empty slot for the user's cards");
    fields.optional("cpu_device", &D::cpu_device, core::text(),
                    "of a cpu_rank: an id in the cluster's `cpu_devices`");
    fields.optional("socket", &D::socket, core::integer<std::int64_t>({.min = 0, .max = 1023}),
                    "the package it hangs on");
    fields.optional("bandwidth_gbit_per_s", &D::bandwidth_gbit_per_s,
                    core::number(gbit_per_s_range), "of a nic: its port, 1e9 bit/s each direction");
    fields.optional("source", &D::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return core::list(core::record(table), 1, most_devices);
}

namespace {

/// Two ids, or the word `all_cpu_ranks`.
core::ValueType<std::vector<std::string>> between_value() {
  const auto two = core::list(core::text(), 2, 2);
  core::ValueType<std::vector<std::string>> type;
  type.read = [two](const Json& json, const Cursor& cursor, std::vector<std::string>& ends) {
    if (json.is_array()) {
      two.read(json, cursor, ends);
    } else if (json == Json(all_cpu_ranks)) {
      ends.assign(1, std::string(all_cpu_ranks));
    } else {
      cursor.fault("got " + core::shown(json) + " (must be a list of two devices, or \"" +
                   std::string(all_cpu_ranks) + "\")");
    }
  };
  type.write = [two](const std::vector<std::string>& ends) {
    return ends.size() == 1 ? Json(ends.front()) : two.write(ends);
  };
  type.schema = [two] { return Json{{"anyOf", {Json{{"const", all_cpu_ranks}}, two.schema()}}}; };
  return type;
}

core::ValueType<std::vector<ExchangePoint>> exchanges_value() {
  static const FieldTable<ExchangePoint> table = [] {
    constexpr double longest_us = 1e12;
    FieldTable<ExchangePoint> fields;
    core::ValueType<core::Bytes> bytes = core::bytes_value();
    bytes.read = [](const Json& json, const Cursor& cursor, core::Bytes& value) {
      if (auto read = core::detail::read_integer(json, cursor, {.min = 1})) {
        value = core::Bytes(*read);
      }
    };
    bytes.schema = [] { return Json{{"type", "integer"}, {"minimum", 1}, {"maximum", INT64_MAX}}; };
    fields.required("bytes", &ExchangePoint::bytes, bytes, "that each end sends and receives");
    fields.required("time_us", &ExchangePoint::time_us,
                    core::number({.min = 0, .min_excluded = true, .max = longest_us}),
                    "until both ends have them");
    return fields;
  }();
  return core::list(core::record(table), 1, 4096);
}

}  // namespace

core::ValueType<std::vector<NodeLink>> links_value() {
  static const FieldTable<NodeLink> table = [] {
    using L = NodeLink;
    FieldTable<L> fields;
    fields.required("between", &L::between, between_value(),
                    "two devices; or all_cpu_ranks, a link between each two of them");
    fields.required("kind", &L::kind, core::word<LinkKind>(), "what it is");
    fields.optional("bandwidth_gb_per_s", &L::bandwidth_gb_per_s, core::number(gb_per_s_range),
                    "1e9 bytes/s, each direction; may be left out beside `measured`");
    fields.optional("latency_us", &L::latency_us, core::number(latency_us_range),
                    "one way; without it the default of its kind, which is an assumption");
    fields.defaulted("duplex", &L::duplex, core::word<Duplex>(), "both directions at once");
    fields.optional("measured", &L::measured, exchanges_value(),
                    "times of exchanges over it, by size; they come before rate and latency");
    fields.optional("source", &L::source, core::text(), "an id in `sources`");
    return fields;
  }();
  return core::list(core::record(table), 0, 4 * most_devices);
}

const FieldTable<Node>& node_fields() {
  static const FieldTable<Node> table = [] {
    FieldTable<Node> fields;
    fields.document("node");
    fields.required("id", &Node::id, core::text(), "the file's name");
    fields.required("name", &Node::name, core::text(), "for people");
    fields.required("sources", &Node::sources, sources_value(), "where numbers come from");
    fields.optional("cpu", &Node::cpu, core::record(node_cpu_fields()), "the host's processors");
    fields.optional("memory_gib", &Node::memory_gib, sourced(core::number(memory_gib_range)),
                    "host memory, 2^30 bytes");
    fields.optional("peer_to_peer_over_pcie", &Node::peer_to_peer_over_pcie,
                    sourced(core::boolean()), "overrides what the gpu file says");
    fields.required("devices", &Node::devices, devices_value(), "what hangs in it");
    fields.required("links", &Node::links, links_value(), "between two devices each");
    return fields;
  }();
  return table;
}

namespace {

void fault_if_foreign(const NodeDevice& device, const Cursor& cursor) {
  const std::string kind(core::spelling(device.kind));
  const auto only_for = [&](bool given, const char* key, DeviceKind owner) {
    if (given && device.kind != owner) {
      cursor.at(key).fault("does not belong to a " + kind + " (only to a " +
                           std::string(core::spelling(owner)) + ")");
    }
  };
  only_for(device.gpu.has_value(), "gpu", DeviceKind::gpu);
  only_for(device.cpu_device.has_value(), "cpu_device", DeviceKind::cpu_rank);
  only_for(device.bandwidth_gbit_per_s.has_value(), "bandwidth_gbit_per_s", DeviceKind::nic);
  if (device.kind == DeviceKind::cpu_rank && !device.cpu_device) {
    cursor.fault("the key \"cpu_device\" is missing (a cpu_rank names one of `cpu_devices`)");
  }
}

std::string nearest_device(const std::string& id,
                           const std::map<std::string, DeviceKind>& devices) {
  constexpr std::size_t most_compared = 4096;  // for each link that is wrong
  if (devices.size() > most_compared) return {};
  std::vector<std::string> ids;
  ids.reserve(devices.size());
  for (const auto& [known, kind] : devices) ids.push_back(known);
  return core::nearest(id, ids);
}

void check_ends(const NodeLink& link, const Cursor& cursor,
                const std::map<std::string, DeviceKind>& devices) {
  if (devices.empty()) return;  // already a fault
  if (link.between.size() == 1) {
    int ranks = 0;
    for (const auto& [id, kind] : devices) ranks += kind == DeviceKind::cpu_rank ? 1 : 0;
    if (ranks < 2) {
      cursor.fault("got \"all_cpu_ranks\", but the node has " + std::to_string(ranks) +
                   " devices of kind cpu_rank (must have 2 or more)");
    }
    return;
  }
  if (link.between.size() != 2) return;  // already a fault
  for (std::size_t end = 0; end < 2; ++end) {
    const std::string& id = link.between[end];
    if (devices.contains(id)) continue;
    const std::string near = nearest_device(id, devices);
    cursor.at(end).fault("got " + core::shown(Json(id)) + ", which is no device of this node" +
                         (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
  if (link.between[0] == link.between[1]) {
    cursor.fault("got " + core::shown(Json(link.between[0])) + " twice (a link joins two devices)");
  }
}

void check_link(const NodeLink& link, const Cursor& cursor,
                const std::map<std::string, DeviceKind>& devices) {
  check_ends(link, cursor.at("between"), devices);
  if (!link.measured) {
    if (!link.bandwidth_gb_per_s) {
      cursor.fault("has no rate (give bandwidth_gb_per_s, or measured)");
    }
    return;
  }
  for (std::size_t i = 1; i < link.measured->size(); ++i) {
    const core::Bytes before = (*link.measured)[i - 1].bytes;
    const core::Bytes bytes = (*link.measured)[i].bytes;
    if (bytes <= before) {
      cursor.at("measured")
          .at(i)
          .at("bytes")
          .fault("got " + std::to_string(bytes.value()) + " after " +
                 std::to_string(before.value()) + " (sizes must rise)");
    }
  }
}

}  // namespace

void check_node(const Node& node, const Cursor& cursor) {
  const FaultyPlaces faulty(cursor);
  std::map<std::string, DeviceKind> devices;
  for (std::size_t i = 0; i < node.devices.size(); ++i) {
    const NodeDevice& device = node.devices[i];
    const Cursor at = cursor.at("devices").at(i);
    if (!faulty.at(at)) fault_if_foreign(device, at);
    if (device.id.empty()) continue;  // already a fault
    if (!devices.emplace(device.id, device.kind).second) {
      at.at("id").fault("got " + core::shown(Json(device.id)) +
                        ", which is given twice in this node (ids must differ)");
    }
  }
  bool ranks_are_joined = false;
  for (std::size_t i = 0; i < node.links.size(); ++i) {
    const Cursor at = cursor.at("links").at(i);
    if (faulty.at(at)) continue;
    check_link(node.links[i], at, devices);
    if (node.links[i].between.size() != 1) continue;
    if (ranks_are_joined)
      at.at("between").fault("got \"all_cpu_ranks\" a second time (once a node)");
    ranks_are_joined = true;
  }
}

void settle_node(Node& node, const Sources& sources) {
  settle(node.cpu, sources);
  settle(node.memory_gib, sources);
  settle(node.peer_to_peer_over_pcie, sources);
}

Node read_node(const std::filesystem::path& path, core::Faults& faults) {
  const Cursor cursor(path.string(), faults);
  const std::size_t faults_before = faults.size();
  const Json document = core::read_json_file(path, cursor);
  Node node;
  if (faults.size() != faults_before) return node;
  node_fields().read(document, cursor, node);
  if (!document.is_object()) return node;
  check_node(node, cursor);
  check_sources(document, cursor, node.sources);
  if (!node.id.empty() && node.id != path.stem().string()) {
    cursor.at("id").fault("got " + core::shown(Json(node.id)) + " (must be the file's name, \"" +
                          path.stem().string() + "\")");
  }
  settle_node(node, node.sources);
  return node;
}

Node read_node(const std::filesystem::path& path) {
  core::Faults faults;
  Node node = read_node(path, faults);
  faults.throw_if_any();
  return node;
}

Node find_node(std::string_view id, std::string_view profiles) {
  const auto path = find_profile("nodes", id, profiles);
  if (!path) throw core::ConfigError("", "", not_found_text("nodes", "node", id, profiles));
  return read_node(*path);
}

std::vector<ProfileEntry> list_nodes(std::string_view profiles) {
  return list_profiles("nodes", "node", profiles);
}

std::string node_schema() { return core::to_text(node_fields().schema()); }

}  // namespace paceline::hardware_profiles
