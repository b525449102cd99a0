#pragma once

#include <memory>

namespace paceline::hardware_profiles {

/// What `Cluster::route` remembers: the graph, and a tree of ways for each vertex that was asked
/// for, the oldest of which are dropped beyond 64 MiB. A copy starts empty, so that a copied
/// cluster may be changed. Calls from several threads take turns.
class RouteCache {
 public:
  struct State;

  RouteCache();
  RouteCache(const RouteCache& other);
  RouteCache(RouteCache&& other) noexcept;
  RouteCache& operator=(const RouteCache& other);
  RouteCache& operator=(RouteCache&& other) noexcept;
  ~RouteCache();

  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace paceline::hardware_profiles
