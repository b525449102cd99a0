#pragma once

#include <string_view>

#include "core/time.hpp"

namespace paceline::sim {

/// A time that a profile gives in microseconds, rounded up to the next picosecond; exact where it
/// is a whole number of picoseconds. `what` names it in the message of the `core::RunError` for
/// times that are negative, not finite or beyond `core::time_limit`.
[[nodiscard]] core::Time time_of_us(double us, std::string_view what);

/// a + b. Throws `core::RunError` beyond `core::time_limit`.
[[nodiscard]] core::Time sum_within_limit(core::Time a, core::Time b, std::string_view what);

}  // namespace paceline::sim
