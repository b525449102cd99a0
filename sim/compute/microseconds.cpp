#include "sim/compute/microseconds.hpp"

#include <fmt/format.h>

#include <cmath>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

[[noreturn]] void out_of_range(double us, std::string_view what) {
  throw core::RunError(fmt::format(
      "{} takes {:g} us (must lie between 0 and 100 days, where simulated time ends): look at its "
      "numbers in the cluster file",
      what, us));
}

}  // namespace

core::Time time_of_us(double us, std::string_view what) {
  const double picoseconds = std::ceil(us * 1e6);
  const bool in_range =
      picoseconds >= 0.0 && picoseconds <= static_cast<double>(core::time_limit.ps());
  if (!in_range) out_of_range(us, what);
  return core::Time::from_ps(static_cast<std::int64_t>(picoseconds));
}

core::Time sum_within_limit(core::Time a, core::Time b, std::string_view what) {
  if (a > core::time_limit - b) out_of_range(a.us() + b.us(), what);
  return a + b;
}

}  // namespace paceline::sim
