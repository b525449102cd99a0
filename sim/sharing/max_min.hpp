#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace paceline::sim {

/// Shares resources (directions of links, memory bandwidth, multiprocessors) among consumers
/// (flows, kernels) max-min fairly: nobody's rate can grow without taking from one that has no
/// more.
///
/// A consumer of rate r takes coefficient · r of each resource of its pattern, and wants no more
/// than its bound. Progressive filling: all rates grow together until a resource is full or a
/// consumer has its bound; those that it concerns keep what they have, the rest grow on (Bertsekas
/// and Gallager, "Data Networks", 6.5.2).
///
/// Only the component is solved again that a change touched: the consumers that share a resource,
/// directly or through others, with one that came, went or changed. A consumer alone on its
/// resources has its rate at once, in O(length of the pattern). The order in which equal components
/// are given does not change a rate. Allocates only while it grows beyond its largest size so far.
class MaxMin {
 public:
  using Resource = std::uint32_t;
  using Pattern = std::uint32_t;
  using Consumer = std::uint32_t;
  struct Use {
    Resource resource = 0;
    double coefficient = 1;
  };
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  /// Throws `core::InvariantError` if the capacity is not positive.
  Resource add_resource(double capacity);
  /// What consumers of one kind take; resources none twice. Throws `core::InvariantError` for an
  /// unknown resource or a coefficient that is not positive.
  Pattern add_pattern(std::span<const Use> uses);

  /// Rate at once if nobody else uses its resources; else 0 until `settle`. Throws
  /// `core::InvariantError` if the consumer would have no limit.
  double start(Consumer consumer, Pattern pattern, double bound = unbounded);
  void stop(Consumer consumer);
  void set_capacity(Resource resource, double capacity);

  [[nodiscard]] bool has_changes() const { return !touched_.empty(); }
  /// Solves what was touched since the last call. The consumers whose rate changed, in ascending
  /// order; valid until the next call.
  std::span<const Consumer> settle();

  [[nodiscard]] double rate(Consumer consumer) const { return consumers_[consumer].rate; }
  /// Those that use it, in no order.
  [[nodiscard]] const std::vector<Consumer>& users(Resource resource) const {
    return resources_[resource].users;
  }
  [[nodiscard]] std::span<const Use> uses(Pattern pattern) const {
    return {uses_.data() + pattern_begin_[pattern], uses_.data() + pattern_begin_[pattern + 1]};
  }
  [[nodiscard]] double capacity(Resource resource) const { return resources_[resource].capacity; }
  /// Consumers whose rates were computed by `settle` so far: what a change costs.
  [[nodiscard]] std::uint64_t solved() const { return solved_; }

 private:
  struct ResourceState {
    double capacity = 0;
    double left = 0;    // while solving
    double demand = 0;  // Σ coefficients of those not fixed yet
    std::uint32_t mark = 0;
    std::vector<Consumer> users;
  };
  struct ConsumerState {
    Pattern pattern = 0;
    double bound = 0;
    double rate = 0;
    double next = 0;  // while solving
    std::uint32_t mark = 0;
    bool fixed = false;
  };

  void gather(Resource from);
  void solve();
  void fix(Consumer consumer, double rate);

  std::vector<ResourceState> resources_;
  std::vector<ConsumerState> consumers_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> pattern_begin_{0};
  std::vector<Resource> touched_;
  std::uint32_t mark_ = 0;
  std::vector<Resource> component_resources_;
  std::vector<Consumer> component_consumers_;
  std::vector<Consumer> changed_;
  std::uint64_t solved_ = 0;
};

}  // namespace paceline::sim
