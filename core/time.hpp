#pragma once

#include <compare>
#include <cstdint>

namespace paceline::core {

/// Simulated time, an instant since the start or a duration, in whole picoseconds.
/// 64 bits hold 106 days; the engine stops with an error at `time_limit`.
class Time {
 public:
  constexpr Time() = default;

  [[nodiscard]] static constexpr Time from_ps(std::int64_t picoseconds) {
    Time time;
    time.picoseconds_ = picoseconds;
    return time;
  }
  /// Rounds up to the next picosecond, so that no positive duration becomes zero. What is a whole
  /// number of picoseconds up to the rounding of doubles (relative 1e-15) stays that number.
  /// Throws `InvariantError` if `seconds` is negative, not finite or beyond `time_limit`.
  [[nodiscard]] static Time from_seconds(double seconds);
  [[nodiscard]] static Time from_us(double microseconds) {
    return from_seconds(microseconds * 1e-6);
  }

  [[nodiscard]] constexpr std::int64_t ps() const { return picoseconds_; }
  [[nodiscard]] constexpr double us() const { return static_cast<double>(picoseconds_) * 1e-6; }
  [[nodiscard]] constexpr double seconds() const {
    return static_cast<double>(picoseconds_) * 1e-12;
  }

  constexpr auto operator<=>(const Time&) const = default;

  constexpr Time& operator+=(Time other) {
    picoseconds_ += other.picoseconds_;
    return *this;
  }
  constexpr Time& operator-=(Time other) {
    picoseconds_ -= other.picoseconds_;
    return *this;
  }
  friend constexpr Time operator+(Time a, Time b) { return a += b; }
  friend constexpr Time operator-(Time a, Time b) { return a -= b; }
  friend constexpr Time operator*(Time a, std::int64_t factor) {
    return from_ps(a.picoseconds_ * factor);
  }
  friend constexpr Time operator*(std::int64_t factor, Time a) { return a * factor; }

 private:
  std::int64_t picoseconds_ = 0;
};

/// Simulated time ends here: 100 days.
inline constexpr Time time_limit = Time::from_ps(INT64_C(100) * 24 * 3600 * 1'000'000'000'000);

}  // namespace paceline::core
