#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/quantity.hpp"

/// Quantities as screens show them: a unit always, no more digits than people read.
namespace paceline::cli {

/// The unit of a column of times.
struct TimeUnit {
  std::string_view name;  // µs, ms, s
  double us = 1;          // microseconds in one
};
/// µs below 10 ms, ms below 100 s, else s.
[[nodiscard]] TimeUnit time_unit_for(double largest_us);

/// Decimals that give `largest`, the largest of a column, four significant digits.
[[nodiscard]] int decimals_for(double largest);
[[nodiscard]] std::string fixed(double value, int decimals);
/// Three significant digits: 0.0123, 1.23, 123, 1234.
[[nodiscard]] std::string significant(double value);

/// "812 µs", "8.12 ms", "1.43 s", "9 min 18 s", "5 h 12 min", "12.3 days".
[[nodiscard]] std::string time_text(double us);
/// "1.23 GiB", "346 MiB", "12.0 KiB", "17 B".
[[nodiscard]] std::string bytes_text(core::Bytes bytes);
[[nodiscard]] double in_mib(core::Bytes bytes);
[[nodiscard]] double in_gib(core::Bytes bytes);

/// With its sign, unless it is shown as zero: "+4.5", "−4.5", "0.0".
[[nodiscard]] std::string signed_fixed(double value, int decimals);
/// "4.5 %" of 0.045.
[[nodiscard]] std::string percent(double share, int decimals = 1);
/// "+4.5 %", "−4.5 %"; "–" where it is not finite.
[[nodiscard]] std::string signed_percent(double share, int decimals = 1);

/// "1 rank", "2 ranks".
[[nodiscard]] std::string counted(std::int64_t count, std::string_view singular);

}  // namespace paceline::cli
