#pragma once

#include "core/quantity.hpp"
#include "core/time.hpp"

/// The one place where bytes, FLOPs and rates become time. Every conversion rounds up to the next
/// picosecond; a rate that is not positive is an error, never an infinite time.
namespace paceline::core {

/// bytes / rate, rounded up. Throws `InvariantError` if `rate` is not positive.
[[nodiscard]] Time transfer_time(Bytes bytes, ByteRate rate);

/// flops / rate, rounded up. Throws `InvariantError` if `rate` is not positive.
[[nodiscard]] Time compute_time(Flops flops, FlopRate rate);

/// amount / duration. Throws `InvariantError` if `duration` is not positive.
[[nodiscard]] ByteRate rate_of(Bytes bytes, Time duration);
[[nodiscard]] FlopRate rate_of(Flops flops, Time duration);

[[nodiscard]] constexpr ByteRate gb_per_s(double value) { return ByteRate(value * 1e9); }
[[nodiscard]] constexpr ByteRate gbit_per_s(double value) { return ByteRate(value * 1e9 / 8.0); }
[[nodiscard]] constexpr FlopRate gflop_per_s(double value) { return FlopRate(value * 1e9); }
[[nodiscard]] constexpr Bytes mib(std::int64_t value) { return Bytes(value * 1024 * 1024); }

}  // namespace paceline::core
