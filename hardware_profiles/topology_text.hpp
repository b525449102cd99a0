#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// What nvidia-smi and lscpu print about a machine, read from their texts: a saved file does as
/// well as the tool itself. All readers throw `core::ConfigError` with file, line and what to
/// paste.
namespace paceline::hardware_profiles {

/// A text and the file, or command, that it came from.
struct NamedText {
  std::string name;
  std::string text;
};

/// The query whose output `read_gpu_rows` reads; the order of the columns is free.
inline constexpr auto gpu_query =
    "nvidia-smi --query-gpu=index,name,memory.total,uuid,pcie.link.gen.max,pcie.link.gen.current,"
    "pcie.link.width.max,pcie.link.width.current --format=csv";
inline constexpr auto topology_query = "nvidia-smi topo -m";
inline constexpr auto peer_query = "nvidia-smi topo -p2p r";
inline constexpr auto host_query = "LC_ALL=C lscpu; grep MemTotal /proc/meminfo";

/// A value and the one that it is now: idle links clock down, so `now` may be less.
struct LinkState {
  std::optional<int> max;
  std::optional<int> now;
};

/// One GPU. Values that the driver does not tell ("[N/A]") are empty.
struct GpuRow {
  int index = 0;
  std::string name;
  std::optional<double> memory_gib;
  std::string uuid;
  LinkState pcie_generation;
  LinkState pcie_lanes;
};

/// By index.
[[nodiscard]] std::vector<GpuRow> read_gpu_rows(const NamedText& csv);

/// How the way between two devices crosses the machine, nearest first (nvidia-smi's words).
enum class Proximity : std::uint8_t {
  self,    // X
  nvlink,  // NV#
  pix,     // at most one PCIe bridge
  pxb,     // several PCIe bridges
  phb,     // a PCIe host bridge
  node,    // host bridges of one NUMA node
  sys      // between NUMA nodes
};

struct Path {
  Proximity proximity = Proximity::self;
  int nvlinks = 0;  // of nvlink
  bool operator==(const Path&) const = default;
};

/// `nvidia-smi topo -m`: GPUs first, then network adapters.
struct TopologyMatrix {
  std::vector<std::string> devices;  // GPU0, …, NIC0 or mlx5_0, …
  std::vector<std::vector<Path>> paths;
  std::vector<std::optional<int>> numa_node;  // empty where none, or several, are named
  std::size_t gpus = 0;
};
[[nodiscard]] TopologyMatrix read_topology(const NamedText& text);

/// `nvidia-smi topo -p2p r`: whether GPU i may read GPU j, over any way.
[[nodiscard]] std::vector<std::vector<bool>> read_peer_matrix(const NamedText& text);

struct HostCpu {
  std::string model;
  std::int64_t sockets = 1;
  std::int64_t cores_per_socket = 1;  // physical
  std::optional<double> memory_gib;
};
[[nodiscard]] HostCpu read_lscpu(const NamedText& text);

}  // namespace paceline::hardware_profiles
