#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "core/time.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::sim {

/// Time of an exchange of `bytes` by a measured table sorted by size: between two points linear in
/// log(bytes) and log(time); beyond the largest by the slope of the last two points (never falling;
/// with one point, at `bandwidth`); below the smallest its time.
[[nodiscard]] double interpolated_us(const std::vector<hardware_profiles::ExchangePoint>& table,
                                     core::Bytes bytes, core::ByteRate bandwidth);

/// What it takes to pass bytes between the places of two ranks while as many come back.
/// One link with a measured table: by the table. Any other way: Σ latency + bytes / least
/// bandwidth. Source: docs/formulas_simulation.md, "Ring step".
class ExchangeCost {
 public:
  /// The cluster must outlive the object.
  explicit ExchangeCost(const hardware_profiles::Cluster& cluster) : cluster_(cluster) {}

  /// Throws `core::ConfigError` if there is no way between the two.
  [[nodiscard]] core::Time time_of(int from_rank, int to_rank, core::Bytes bytes);

 private:
  struct Way {
    core::Time latency;
    core::ByteRate bandwidth;  // least
    std::vector<hardware_profiles::ExchangePoint> table;
  };
  const Way& way(int from_rank, int to_rank);

  const hardware_profiles::Cluster& cluster_;
  std::map<std::pair<int, int>, Way> ways_;
};

}  // namespace paceline::sim
