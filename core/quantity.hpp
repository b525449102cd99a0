#pragma once

#include <compare>
#include <cstdint>

namespace paceline::core {

/// A number with a unit that the compiler knows: quantities of different units do not mix, and a
/// bare number never becomes one by accident. Conversions between units live in `rates.hpp`.
template <class Unit, class Rep>
class Quantity {
 public:
  using rep = Rep;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }

  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) {
    return Quantity(a.value_ * factor);
  }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return a * factor; }

 private:
  Rep value_{};
};

/// Storage or traffic in bytes.
using Bytes = Quantity<struct ByteUnit, std::int64_t>;
/// Floating-point operations; a multiply-add counts two. Only matrix products are counted, as
/// PyTorch's FlopCounterMode does (see docs/formulas.md).
using Flops = Quantity<struct FlopUnit, std::int64_t>;
/// Bytes per second.
using ByteRate = Quantity<struct ByteRateUnit, double>;
/// Floating-point operations per second.
using FlopRate = Quantity<struct FlopRateUnit, double>;

}  // namespace paceline::core
