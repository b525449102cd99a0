#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/time.hpp"
#include "core/vocabulary.hpp"
#include "hardware_profiles/cluster.hpp"
#include "sim/collectives/group_fabric.hpp"

namespace paceline::sim {

/// Measured times of one kind of collective over one kind of group.
struct MeasuredCollective {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  std::string gpu;  // id of every member's card
  int nodes = 1;
  int gpus_per_node = 1;                                 // on each of them
  std::vector<hardware_profiles::ExchangePoint> points;  // by rising size, as nccl-tests prints it
};

/// What a collective over GPUs takes from the last arrival on: time = latency + bytes / rate, where
/// `bytes` is the size that nccl-tests prints: the whole vector (for reduce_scatter, all_gather and
/// all_to_all that of all members together: one member's part times their number).
struct CollectiveEstimate {
  core::Time time;
  core::CollectiveAlgorithm algorithm = core::CollectiveAlgorithm::ring;
  core::CollectiveProtocol protocol = core::CollectiveProtocol::simple;
  int channels = 0;
  core::Time latency;
  core::ByteRate rate;  // of `bytes`; 0 where nothing is moved
  /// `time` comes from a measured table; the rest is still the model's.
  bool measured = false;
  /// The direction of a link that is busiest, and sets `rate` unless a limit of the protocol does.
  DirectedLink busiest = 0;
};

struct CollectiveChoice {
  std::optional<core::CollectiveAlgorithm> algorithm;  // else the fastest
  std::optional<core::CollectiveProtocol> protocol;
};

/// Predicts collectives of one communicator as NCCL plans them: for each algorithm and protocol a
/// latency (launch, then hops of their kinds) and a rate (what the cluster's links leave, times the
/// protocol's efficiency, at most what its channels carry); the least time wins. Constants:
/// tuning_constants.hpp; formulas with their sources: docs/formulas_simulation.md, "Collectives of
/// GPUs". Ring, tree (double binary between nodes), NVLS and NVLSTree; pairwise for all_to_all and
/// point_to_point, ring for the others.
///
/// Where `measured` has the same kind over the same kind of group, its time takes precedence:
/// interpolated in log(bytes) and log(time), beyond its largest size by its last slope
/// (`interpolated_us`).
///
/// One member: no time. Throws `core::ConfigError` if a rank is no GPU or has no way to another.
class CollectiveModel {
 public:
  /// The cluster must outlive the object.
  CollectiveModel(const hardware_profiles::Cluster& cluster, std::span<const int> ranks,
                  std::span<const MeasuredCollective> measured = {});
  /// As above, sharing `routes`, which must outlive the object.
  CollectiveModel(const DeviceRoutes& routes, std::span<const int> ranks,
                  std::span<const MeasuredCollective> measured = {});
  CollectiveModel(const CollectiveModel&) = delete;
  CollectiveModel& operator=(const CollectiveModel&) = delete;
  CollectiveModel(CollectiveModel&&) = delete;
  CollectiveModel& operator=(CollectiveModel&&) = delete;
  ~CollectiveModel() = default;

  /// Throws `core::InvariantError` if bytes < 0, if a point_to_point has not two members, or if
  /// nothing fits `choice`.
  [[nodiscard]] CollectiveEstimate estimate(core::CollectiveKind kind, core::Bytes bytes,
                                            CollectiveChoice choice = {}) const;
  [[nodiscard]] const GroupFabric& fabric() const { return fabric_; }

 private:
  using Algorithm = core::CollectiveAlgorithm;
  using Protocol = core::CollectiveProtocol;
  struct Rates {
    explicit Rates(const GroupFabric& fabric);
    Bottleneck ring, tree, tree_between_nodes, nvls;
  };

  [[nodiscard]] bool supports(core::CollectiveKind kind, Algorithm algorithm,
                              Protocol protocol) const;
  [[nodiscard]] double latency_us(core::CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                                  double bytes) const;
  [[nodiscard]] double ring_latency_us(core::CollectiveKind kind, Protocol protocol,
                                       double bytes) const;
  /// bytes/s of the collective's `bytes`.
  [[nodiscard]] double rate_of(core::CollectiveKind kind, Algorithm algorithm, Protocol protocol,
                               double bytes) const;
  [[nodiscard]] const Bottleneck& bottleneck(Algorithm algorithm) const;
  [[nodiscard]] const Bottleneck& pairwise() const;
  [[nodiscard]] double network_hop_us(Algorithm algorithm, Protocol protocol) const;

  std::optional<DeviceRoutes> own_routes_;
  GroupFabric fabric_;
  Rates rates_;
  mutable std::optional<Bottleneck> pairwise_;  // found when first asked for: O(members²)
  int channels_ = 1;
  std::vector<MeasuredCollective> measured_;  // of this kind of group
};

/// One estimate; for many of the same communicator keep a `CollectiveModel`.
[[nodiscard]] CollectiveEstimate estimate_collective(const hardware_profiles::Cluster& cluster,
                                                     std::span<const int> ranks,
                                                     core::CollectiveKind kind, core::Bytes bytes);

}  // namespace paceline::sim
