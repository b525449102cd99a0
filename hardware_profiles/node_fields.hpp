#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/fields.hpp"
#include "hardware_profiles/node.hpp"
#include "hardware_profiles/sourced_fields.hpp"

/// The tables of a machine, for node files and for nodes that a cluster file writes inline.
namespace paceline::hardware_profiles {

inline constexpr std::int64_t most_devices = 1'048'576;

/// An id of a device: `node/device` names it in the cluster, so it has no slash.
[[nodiscard]] core::ValueType<std::string> device_id_value();
[[nodiscard]] const core::FieldTable<NodeCpu>& node_cpu_fields();
[[nodiscard]] core::ValueType<std::vector<NodeDevice>> devices_value();
[[nodiscard]] core::ValueType<std::vector<NodeLink>> links_value();
[[nodiscard]] const core::FieldTable<Node>& node_fields();

/// Places that have faults already, so that a check of several fields does not add what follows
/// from a fault of one of them.
class FaultyPlaces {
 public:
  explicit FaultyPlaces(const core::Cursor& cursor);
  /// Whether the object at `cursor`, or anything in it, has a fault.
  [[nodiscard]] bool at(const core::Cursor& cursor) const;

 private:
  std::set<std::string> pointers_;
};

/// Faults of devices and links against each other: ids given twice, links to nowhere, keys that do
/// not belong to a kind. `cursor` stands at the object that has `devices` and `links`.
void check_node(const Node& node, const core::Cursor& cursor);

/// Fills in the certainties of the values that have a source.
void settle_node(Node& node, const Sources& sources);

/// Reads a node file; faults go to `faults`.
[[nodiscard]] Node read_node(const std::filesystem::path& path, core::Faults& faults);

}  // namespace paceline::hardware_profiles
