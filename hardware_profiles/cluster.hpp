#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/quantity.hpp"
#include "core/time.hpp"

/// Where training runs: devices, and the links between them.
namespace paceline::hardware_profiles {

/// Time of a kernel class in microseconds: Σ coefficient × feature (models/kernel_class.hpp).
struct KernelModel {
  std::map<std::string, double> us_per_feature;
  /// Standard deviation of log(measured / model) over the rows of the fit.
  double residual = 0;
  std::int64_t rows = 0;
};

/// How fast a CPU rank computes while `active_ranks` ranks of its host do.
struct CpuLevel {
  int active_ranks = 1;
  double reference_gflop_per_s = 0;
  std::map<std::string, KernelModel> kernels;  // by class
};

/// A CPU slot that runs one rank; communication runs on the same core as compute.
struct CpuDevice {
  std::string id;
  std::string name;
  int threads = 1;
  double host_issue_us = 0;
  double memory_gib = 0;  // of the host, for all its ranks
  std::vector<CpuLevel> levels;
  /// Adding a received slice: microseconds per call and per byte.
  double reduction_us_per_call = 0;
  double reduction_us_per_byte = 0;
};

/// A point of a measured table: both ends send and receive `bytes` at once.
struct ExchangePoint {
  core::Bytes bytes;
  double time_us = 0;
};

using VertexId = core::OpaqueId<struct Vertex>;
using LinkId = core::OpaqueId<struct Link>;

/// A device, switch or memory of one node, or a switch of the fabric.
struct Vertex {
  std::string name;  // "node0/rank1"
  int node = -1;     // -1: fabric
  std::string kind;  // cpu_rank, memory, switch, …
};

struct Link {
  VertexId a, b;
  std::string kind;           // shared_memory, ethernet, …
  core::ByteRate bandwidth;   // each direction
  core::Time latency;
  /// Takes precedence over bandwidth and latency where it covers the size.
  std::vector<ExchangePoint> measured;
};

/// The place of one rank.
struct Slot {
  VertexId vertex;
  int node = 0;
  std::string device;  // id in `cpu_devices`
};

struct Cluster {
  std::string id;
  std::string name;
  std::map<std::string, CpuDevice> cpu_devices;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<Slot> slots;  // in rank order
  std::string hash;         // of the file
  std::string origin;       // path of the file

  /// Links from `from` to `to` in order, by least latency, then fewest links; empty if from == to.
  /// Throws `core::ConfigError` if there is no way.
  [[nodiscard]] std::vector<LinkId> route(VertexId from, VertexId to) const;
  [[nodiscard]] const CpuDevice& device_of(int rank) const;
  [[nodiscard]] int active_ranks_on_node(int node, int world_size) const;
};

/// Reads a cluster file by path (if `reference` has a slash or ends in .json) or looks up
/// `clusters/<id>.json` in `core::profile_directories(profiles)`.
/// Throws `core::ConfigError` with every fault, or with the folders that were searched.
[[nodiscard]] Cluster find_cluster(std::string_view reference, std::string_view profiles);

/// Text of a cluster file with one node of `ranks` CPU ranks that share `device` and talk through
/// shared memory; `exchanges` may be empty for one rank.
[[nodiscard]] std::string cpu_cluster_text(
    const CpuDevice& device, int ranks, const std::vector<ExchangePoint>& exchanges,
    const std::map<std::string, std::string>& provenance);

[[nodiscard]] std::string cluster_schema();

}  // namespace paceline::hardware_profiles
