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
#include "hardware_profiles/gpu.hpp"
#include "hardware_profiles/lookup.hpp"
#include "hardware_profiles/node.hpp"
#include "hardware_profiles/route_cache.hpp"

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

using VertexId = core::OpaqueId<struct Vertex>;
using LinkId = core::OpaqueId<struct Link>;

/// A device, switch or memory of one node, or a switch of the fabric.
struct Vertex {
  std::string name;  // "node0/rank1", "fabric/switch"
  int node = -1;     // -1: fabric
  std::string kind;  // as in the file: cpu_rank, gpu, cpu, nic, switch, memory
};

struct Link {
  VertexId a, b;
  std::string kind;          // shared_memory, ethernet, …
  core::ByteRate bandwidth;  // each direction
  core::Time latency;
  /// Takes precedence over bandwidth and latency where it covers the size. Where a file gives a
  /// table and no rate, `bandwidth` is that of its largest size and `latency` its shortest time.
  std::vector<ExchangePoint> measured;
  Certainty bandwidth_certainty = Certainty::assumed;
  Certainty latency_certainty = Certainty::assumed;  // assumed where it is a kind's default
};

/// The place of one rank: a CPU slot or a GPU.
struct Slot {
  VertexId vertex;
  int node = 0;
  std::string device;  // id in `cpu_devices`, empty for a GPU
  std::string gpu;     // id in `gpus`, empty for a CPU slot
};

struct Cluster {
  std::string id;
  std::string name;
  std::map<std::string, CpuDevice> cpu_devices;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<Slot> slots;  // in rank order
  std::string hash;         // of the file, and of the node and gpu files that it uses
  std::string origin;       // path of the file

  std::map<std::string, Gpu> gpus;  // those in the slots
  std::vector<Node> node_kinds;     // one for each group of nodes
  std::vector<int> kind_of_node;    // index in `node_kinds`, one for each node
  /// Texts about how the file was made; no part of the hash.
  std::map<std::string, std::string> provenance;

  /// Links from `from` to `to` in order; empty if from == to. The way with the least latency; of
  /// those the one with the fewest links; of those the one whose narrowest link is widest; of
  /// those the one that arrives over the links with the lowest ids, seen from `to` backwards.
  /// Vertices and links must not change between calls (a copy of the cluster may: it starts
  /// afresh). Throws `core::ConfigError` if there is no way.
  [[nodiscard]] std::vector<LinkId> route(VertexId from, VertexId to) const;
  /// The CPU device of a rank. Throws `core::ConfigError` if there is no such slot, it is a GPU, or
  /// the device is not calibrated.
  [[nodiscard]] const CpuDevice& device_of(int rank) const;
  /// The GPU of a rank. Throws `core::ConfigError` if there is no such slot or it is a CPU slot.
  [[nodiscard]] const Gpu& gpu_of(int rank) const;
  /// Node `index`, counted over all groups.
  [[nodiscard]] const Node& node(int index) const;
  /// How many of the ranks 0 … world_size − 1 run on that node.
  [[nodiscard]] int active_ranks_on_node(int node, int world_size) const;
  /// Whether GPUs like `rank`'s may read each other over PCI Express: the node's word, else the
  /// card's.
  [[nodiscard]] bool peer_to_peer_over_pcie(int rank) const;

  RouteCache route_cache;
};

/// The commands that measure this machine and write its profile.
inline constexpr auto how_to_calibrate =
    "make it with `mpirun -n 2 paceline-rt calibrate --out m.json; paceline make-profile m.json "
    "--out ~/.local/share/paceline/clusters/this_machine.json`";

/// Reads a cluster file by path (if `reference` has a slash or ends in .json), or looks it up as
/// `<dir>/clusters/<id>.json`, then `<dir>/<id>.json`, in `core::profile_directories(profiles)`.
/// `this_machine` without a file is this host's CPU as `detected_cpu_cluster` describes it: it has
/// slots and memory, but no kernel times.
/// Throws `core::ConfigError` with every fault, or with the folders that were searched.
[[nodiscard]] Cluster find_cluster(std::string_view reference, std::string_view profiles);

/// Reads a cluster from text; `file` names it in messages.
[[nodiscard]] Cluster read_cluster_text(std::string_view text, const std::string& file,
                                        std::string_view profiles);

/// A cluster of one node with these cards, by id or alias, in rank order: the `default_node` of the
/// first, with its slots filled or, where its cards are fixed, its first ones. One card without a
/// default node hangs on one CPU. Throws `core::ConfigError` where the node cannot hold them.
[[nodiscard]] Cluster cluster_of_gpus(const std::vector<std::string>& cards,
                                      std::string_view profiles);

/// Text of a cluster file with one node of `ranks` CPU ranks that share `device` and talk through
/// shared memory; `exchanges` may be empty for one rank.
[[nodiscard]] std::string cpu_cluster_text(const CpuDevice& device, int ranks,
                                           const std::vector<ExchangePoint>& exchanges,
                                           const std::map<std::string, std::string>& provenance);

[[nodiscard]] std::vector<ProfileEntry> list_clusters(std::string_view profiles = {});

/// JSON Schema of a cluster file.
[[nodiscard]] std::string cluster_schema();

}  // namespace paceline::hardware_profiles
