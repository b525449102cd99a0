#pragma once

#include <gmock/gmock.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "runtime/kernels/threads.hpp"

/// What the tests of single kernels share.
namespace paceline::runtime::kernels {

using Floats = std::vector<float>;

/// An output before its kernel ran: NaN everywhere, so that what is not written shows.
[[nodiscard]] inline Floats poisoned(std::int64_t size) {
  return Floats(static_cast<std::size_t>(size), std::numeric_limits<float>::quiet_NaN());
}

template <class Scalar = float>
[[nodiscard]] std::vector<Scalar> random_values(std::int64_t size, std::uint64_t seed) {
  core::Random random(seed);
  std::vector<Scalar> values(static_cast<std::size_t>(size));
  for (Scalar& value : values) value = static_cast<Scalar>(random.normal());
  return values;
}

/// Elements within `tolerance` of `expected`.
[[nodiscard]] inline auto near(const Floats& expected, float tolerance = 1e-6F) {
  return testing::Pointwise(testing::FloatNear(tolerance), expected);
}

/// Runs `kernel` with one thread and with two; the outputs it returns must be equal bit for bit.
template <class Kernel>
void expect_equal_for_one_and_two_threads(const Kernel& kernel) {
  const int before = thread_count();
  set_thread_count(1);
  const auto alone = kernel();
  set_thread_count(2);
  const auto shared = kernel();
  set_thread_count(before);
  EXPECT_EQ(alone, shared);
}

/// The call throws an InvariantError that names the operand, its size and the right one.
template <class Call>
void expect_size_fault(const Call& call, const std::string& kernel, const std::string& operand,
                       int size, int needed) {
  EXPECT_THAT(call, testing::ThrowsMessage<core::InvariantError>(
                        kernel + ": " + operand + " holds " + std::to_string(size) +
                        " elements (its shape needs " + std::to_string(needed) + ")"));
}

}  // namespace paceline::runtime::kernels
