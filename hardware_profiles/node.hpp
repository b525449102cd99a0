#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "hardware_profiles/lookup.hpp"
#include "hardware_profiles/sourced.hpp"

/// Machines as `nodes/*.json` describe them (nodes/README.md: keys and units).
namespace paceline::hardware_profiles {

/// A point of a measured table: both ends send and receive `bytes` at once.
struct ExchangePoint {
  core::Bytes bytes;
  double time_us = 0;
};

enum class DeviceKind : std::uint8_t { cpu, gpu, nic, switch_, cpu_rank, memory };
enum class LinkKind : std::uint8_t {
  nvlink,
  pcie,
  socket,
  shared_memory,
  network,  // of a kind that nobody stated
  ethernet,
  roce,
  infiniband
};
/// Both directions at the full rate: there is no other link here.
enum class Duplex : std::uint8_t { full };

/// What a link takes that has no `latency_us`: an assumption, by kind. For the kinds of a network
/// it is the time of a short message from node to node, half of which stands at each port.
/// NVLink and PCI Express: less than half of a remote read that crosses two such links; Ethernet:
/// TCP sockets through the kernel; the others as vendors quote their adapters.
[[nodiscard]] double default_latency_us(LinkKind kind);

struct NodeDevice {
  std::string id;
  DeviceKind kind = DeviceKind::cpu;
  std::optional<std::int64_t> socket;
  std::optional<std::string> gpu;         // of kind gpu; without it an empty slot
  std::optional<std::string> cpu_device;  // of kind cpu_rank: an id in the cluster's `cpu_devices`
  std::optional<double> bandwidth_gbit_per_s;  // of kind nic: its port
  std::optional<std::string> source;
};

struct NodeLink {
  /// Two devices; or one word, `all_cpu_ranks`: a link between each two of them.
  std::vector<std::string> between;
  LinkKind kind = LinkKind::pcie;
  std::optional<double> bandwidth_gb_per_s;  // each direction; may be left out beside `measured`
  std::optional<double> latency_us;
  Duplex duplex = Duplex::full;
  std::optional<std::vector<ExchangePoint>> measured;
  std::optional<std::string> source;
};
inline constexpr std::string_view all_cpu_ranks = "all_cpu_ranks";

struct NodeCpu {
  std::int64_t sockets = 1;
  std::int64_t cores_per_socket = 1;  // physical
  std::string source;
  Certainty certainty = Certainty::assumed;
};

struct Node {
  std::string id;  // empty if it is written inline
  std::string name;
  Sources sources;
  std::optional<NodeCpu> cpu;
  std::optional<Sourced<double>> memory_gib;
  std::optional<Sourced<bool>> peer_to_peer_over_pcie;  // overrides what the gpu file says
  std::vector<NodeDevice> devices;
  std::vector<NodeLink> links;
};

/// Reads a node file. Throws `core::ConfigError` with every fault.
[[nodiscard]] Node read_node(const std::filesystem::path& path);

/// Throws `core::ConfigError` if there is none of that id.
[[nodiscard]] Node find_node(std::string_view id, std::string_view profiles = {});

[[nodiscard]] std::vector<ProfileEntry> list_nodes(std::string_view profiles = {});

/// JSON Schema of a node file.
[[nodiscard]] std::string node_schema();

}  // namespace paceline::hardware_profiles

namespace paceline::core {

template <>
struct Spelling<hardware_profiles::DeviceKind> {
  static constexpr std::array words{"cpu", "gpu", "nic", "switch", "cpu_rank", "memory"};
};
template <>
struct Spelling<hardware_profiles::LinkKind> {
  static constexpr std::array words{"nvlink",  "pcie",     "socket", "shared_memory",
                                    "network", "ethernet", "roce",   "infiniband"};
};
template <>
struct Spelling<hardware_profiles::Duplex> {
  static constexpr std::array words{"full"};
};

}  // namespace paceline::core
