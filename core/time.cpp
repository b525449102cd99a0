#include "core/time.hpp"

#include <cmath>

#include "core/error.hpp"

namespace paceline::core {

Time Time::from_seconds(double seconds) {
  const double picoseconds = std::ceil(seconds * 1e12);
  if (!(picoseconds >= 0.0) || picoseconds > static_cast<double>(time_limit.ps())) {
    throw InvariantError("time of " + std::to_string(seconds) +
                         " s is not between 0 and 100 days, where simulated time ends");
  }
  return from_ps(static_cast<std::int64_t>(picoseconds));
}

}  // namespace paceline::core
