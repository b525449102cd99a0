#include "runtime/kernels/reference_product.hpp"

#include <Eigen/Core>

#include "core/random.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

constexpr int side = 256;
constexpr std::size_t values = std::size_t{side} * side;

}  // namespace

ReferenceProduct::ReferenceProduct() : a_(values), b_(values), c_(values) {
  core::Random random(1);
  for (float& value : a_) value = static_cast<float>(random.uniform() - 0.5);
  for (float& value : b_) value = static_cast<float>(random.uniform() - 0.5);
}

std::int64_t ReferenceProduct::run(int repeats) {
  const Eigen::Map<const Eigen::MatrixXf> a(a_.data(), side, side);
  const Eigen::Map<const Eigen::MatrixXf> b(b_.data(), side, side);
  Eigen::Map<Eigen::MatrixXf> c(c_.data(), side, side);
  const std::int64_t begin = now_ns();
  for (int repeat = 0; repeat < repeats; ++repeat) c.noalias() = a * b;
  return now_ns() - begin;
}

core::Flops ReferenceProduct::flops() {
  return core::Flops(2 * std::int64_t{side} * side * side);
}

double ReferenceProduct::gflop_per_s(int repeats, std::int64_t nanoseconds) {
  return static_cast<double>(flops().value()) * repeats / static_cast<double>(nanoseconds);
}

}  // namespace paceline::runtime
