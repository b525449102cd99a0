#include "runtime/kernels/reference_product.hpp"

#include "core/random.hpp"
#include "models/program.hpp"
#include "runtime/kernels/matmul.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

constexpr std::int64_t side = 256;
constexpr std::size_t values = std::size_t{side} * side;

}  // namespace

ReferenceProduct::ReferenceProduct() : a_(values), b_(values), c_(values) {
  core::Random random(1);
  for (float& value : a_) value = static_cast<float>(random.uniform() - 0.5);
  for (float& value : b_) value = static_cast<float>(random.uniform() - 0.5);
}

std::int64_t ReferenceProduct::run(int repeats) {
  multiply();
  const std::int64_t begin = now_ns();
  for (int repeat = 0; repeat < repeats; ++repeat) multiply();
  return now_ns() - begin;
}

void ReferenceProduct::multiply() {
  models::WorkCount ignored;
  kernels::matmul<float>({.m = side, .n = side, .k = side}, a_, b_, {}, c_,
                         kernels::Write::overwrite, ignored);
}

core::Flops ReferenceProduct::flops() { return core::Flops(2 * side * side * side); }

double ReferenceProduct::gflop_per_s(int repeats, std::int64_t nanoseconds) {
  return static_cast<double>(flops().value()) * repeats / static_cast<double>(nanoseconds);
}

}  // namespace paceline::runtime
