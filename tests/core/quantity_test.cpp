#include "core/quantity.hpp"

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>

#include "core/rates.hpp"
#include "core/time.hpp"

namespace paceline::core {
namespace {

template <class A, class B>
concept Adds = requires(A a, B b) { a + b; };
template <class A, class B>
concept Subtracts = requires(A a, B b) { a - b; };
template <class A, class B>
concept Compares = requires(A a, B b) { a < b; };
template <class A, class B>
concept Equals = requires(A a, B b) { a == b; };
template <class A, class B>
concept Multiplies = requires(A a, B b) { a* b; };
template <class A, class B>
concept Divides = requires(A a, B b) { a / b; };
template <class A, class B>
concept Transfers = requires(A a, B b) { transfer_time(a, b); };

static_assert(Adds<Bytes, Bytes> && Subtracts<Bytes, Bytes> && Compares<Bytes, Bytes>);
static_assert(Multiplies<Bytes, std::int64_t> && Multiplies<std::int64_t, Bytes>);

static_assert(!Adds<Bytes, Flops> && !Subtracts<Bytes, Flops>);
static_assert(!Compares<Bytes, Flops> && !Equals<Bytes, Flops>);
static_assert(!Adds<ByteRate, FlopRate> && !Compares<ByteRate, FlopRate>);
static_assert(!Adds<Bytes, Time> && !Adds<Time, Bytes> && !Equals<Bytes, Time>);
static_assert(!Multiplies<Bytes, Bytes> && !Multiplies<Time, Time> && !Multiplies<Bytes, Flops>);
// What divides lives in rates.hpp alone, where it rounds up.
static_assert(!Divides<Bytes, ByteRate> && !Divides<Flops, FlopRate> && !Divides<Time, Time>);
static_assert(Transfers<Bytes, ByteRate>);
static_assert(!Transfers<Flops, ByteRate> && !Transfers<Bytes, FlopRate>);

// A bare number becomes a quantity only by name.
static_assert(!std::convertible_to<std::int64_t, Bytes> && !std::convertible_to<double, ByteRate>);
static_assert(!std::convertible_to<std::int64_t, Time> &&
              !std::convertible_to<Bytes, std::int64_t>);
static_assert(!std::constructible_from<Bytes, Flops> &&
              !std::constructible_from<Time, std::int64_t>);
static_assert(!Adds<Bytes, std::int64_t> && !Compares<Bytes, std::int64_t>);

TEST(Quantity, adds_subtracts_and_scales_in_its_unit) {
  Bytes bytes(10);
  bytes += Bytes(5);
  bytes -= Bytes(1);
  EXPECT_EQ(bytes.value(), 14);
  EXPECT_EQ((3 * bytes).value(), 42);
  EXPECT_EQ((bytes * 2 - Bytes(8)).value(), 20);
}

TEST(Quantity, starts_at_zero_and_orders_by_value) {
  EXPECT_EQ(Flops{}.value(), 0);
  EXPECT_LT(Flops(1), Flops(2));
  EXPECT_EQ(ByteRate(1e9), gb_per_s(1));
}

}  // namespace
}  // namespace paceline::core
