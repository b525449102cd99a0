#pragma once

#include <cstdint>

#include "core/quantity.hpp"
#include "core/time.hpp"

namespace paceline::sim {

/// The reference to be faster than: a ring all-reduce on a star, written as one would at first.
/// Events are functions in a std::priority_queue, flows live in a std::map, and every start and end
/// solves the whole network anew.
[[nodiscard]] core::Time naive_ring_all_reduce(int ranks, core::Bytes bytes, core::ByteRate rate,
                                               core::Time latency);

}  // namespace paceline::sim
