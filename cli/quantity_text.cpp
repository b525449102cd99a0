#include "cli/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace paceline::cli {
namespace {

constexpr double us_per_second = 1e6;
constexpr double minute_s = 60.0;
constexpr double hour_s = 3600.0;
constexpr double day_s = 86400.0;

/// The power of ten of the first digit once `value` is rounded to so many digits: 9.999 has 1.
int exponent_after_rounding(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
}

/// "9 min 18 s": two whole units, rounded at the smaller one.
std::string two_units(double seconds, double larger_s, std::string_view larger, double smaller_s,
                      std::string_view smaller) {
  const auto total = static_cast<std::int64_t>(std::llround(seconds / smaller_s));
  const auto in_one = static_cast<std::int64_t>(larger_s / smaller_s);
  return fmt::format("{} {} {} {}", total / in_one, larger, total % in_one, smaller);
}

}  // namespace

TimeUnit time_unit_for(double largest_us) {
  if (largest_us < 1e4) return {"µs", 1.0};
  if (largest_us < 1e8) return {"ms", 1e3};
  return {"s", us_per_second};
}

int decimals_for(double largest) {
  if (!(std::abs(largest) > 0.0)) return 0;
  return std::clamp(3 - exponent_after_rounding(largest, 4), 0, 6);
}

std::string fixed(double value, int decimals) {
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool is_zero = text.find_first_not_of("-0.") == std::string::npos;
  return is_zero && text.front() == '-' ? text.substr(1) : text;
}

std::string significant(double value) {
  if (!(std::abs(value) > 0.0)) return "0";
  return fixed(value, std::clamp(2 - exponent_after_rounding(value, 3), 0, 9));
}

std::string time_text(double us) {
  const double seconds = us / us_per_second;
  if (us < 999.5) return significant(us) + " µs";
  if (us < 999.5e3) return significant(us / 1e3) + " ms";
  if (seconds < 2 * minute_s) return significant(seconds) + " s";
  if (seconds < 2 * hour_s) return two_units(seconds, minute_s, "min", 1.0, "s");
  if (seconds < 2 * day_s) return two_units(seconds, hour_s, "h", minute_s, "min");
  return significant(seconds / day_s) + " days";
}

std::string bytes_text(core::Bytes bytes) {
  static constexpr std::array<std::pair<double, std::string_view>, 4> units{
      {{1099511627776.0, "TiB"}, {1073741824.0, "GiB"}, {1048576.0, "MiB"}, {1024.0, "KiB"}}};
  const auto value = static_cast<double>(bytes.value());
  for (const auto& [size, name] : units) {
    if (value >= size) return significant(value / size) + " " + std::string(name);
  }
  return std::to_string(bytes.value()) + " B";
}

double in_mib(core::Bytes bytes) { return static_cast<double>(bytes.value()) / 1048576.0; }

double in_gib(core::Bytes bytes) { return static_cast<double>(bytes.value()) / 1073741824.0; }

std::string percent(double share, int decimals) { return fixed(share * 100.0, decimals) + " %"; }

std::string signed_fixed(double value, int decimals) {
  const std::string digits = fixed(std::abs(value), decimals);
  const bool is_zero = digits.find_first_not_of("0.") == std::string::npos;
  return (is_zero ? "" : value < 0.0 ? "−" : "+") + digits;
}

std::string signed_percent(double share, int decimals) {
  if (!std::isfinite(share)) return "–";
  return signed_fixed(share * 100.0, decimals) + " %";
}

std::string counted(std::int64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

}  // namespace paceline::cli
