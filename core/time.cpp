#include "core/time.hpp"

#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace paceline::core {

namespace {

/// Up to five roundings lie between an exact number of picoseconds and its double: half a unit in
/// the last place each.
double rounded_up(double value) {
  const double nearest = std::nearbyint(value);
  const double noise = 4.0 * std::numeric_limits<double>::epsilon() * nearest;
  return std::abs(value - nearest) <= noise ? nearest : std::ceil(value);
}

}  // namespace

Time Time::from_seconds(double seconds) {
  const double picoseconds = rounded_up(seconds * 1e12);
  if (!(picoseconds >= 0.0) || picoseconds > static_cast<double>(time_limit.ps())) {
    throw InvariantError("time of " + std::to_string(seconds) +
                         " s is not between 0 and 100 days, where simulated time ends");
  }
  return from_ps(static_cast<std::int64_t>(picoseconds));
}

}  // namespace paceline::core
