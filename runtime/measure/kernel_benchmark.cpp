#include "runtime/measure/kernel_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "core/random.hpp"
#include "core/statistics.hpp"
#include "runtime/comm/numbers.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/matmul.hpp"
#include "runtime/kernels/pointwise.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

constexpr double us_per_ns = 1e-3;

std::vector<float> random_values(std::int64_t count) {
  core::Random random(1);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform() - 0.5);
  return values;
}

/// Calls `kernel(count)` for about `time` on all ranks at once.
template <class Kernel>
BenchmarkRow measured(Communicator& communicator, BenchmarkTime time, std::string what,
                      const Kernel& kernel) {
  constexpr double least_calls = 5;
  constexpr double most_calls = 10000;
  BenchmarkRow row{.what = std::move(what), .work = {}};
  kernel(row.work);  // touches the operands' pages; what it counts is one call
  models::WorkCount ignored;
  constexpr int probes = 3;
  double one_s = 1e9;
  for (int probe = 0; probe < probes; ++probe) {
    const std::int64_t begin = now_ns();
    kernel(ignored);
    const std::int64_t taken = std::max<std::int64_t>(1, now_ns() - begin);
    one_s = std::min(one_s, static_cast<double>(taken) * 1e-9);
  }
  const double wanted = std::clamp(time.seconds_per_row / one_s, least_calls, most_calls);
  row.calls = static_cast<std::int64_t>(broadcast_numbers(communicator, {wanted}).front());
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(row.calls));
  communicator.barrier();
  for (std::int64_t i = 0; i < row.calls; ++i) {
    const std::int64_t start = now_ns();
    kernel(ignored);
    times.push_back(static_cast<double>(now_ns() - start) * us_per_ns);
  }
  std::vector<double> slowest{core::median(times), core::quantile(times, 0.1),
                              core::quantile(times, 0.9)};
  for (const auto& theirs : gather_numbers(communicator, slowest)) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], theirs[i]);
  }
  slowest = broadcast_numbers(communicator, slowest);
  row.median_us = slowest[0];
  row.p10_us = slowest[1];
  row.p90_us = slowest[2];
  return row;
}

std::string by(std::initializer_list<std::int64_t> extents) {
  return fmt::format("{}", fmt::join(extents, "x"));
}

const char* letter(models::Transpose transpose) {
  return transpose == models::Transpose::yes ? "t" : "n";
}

}  // namespace

double BenchmarkRow::gflop_per_s() const {
  return static_cast<double>(work.flops.value()) / median_us * 1e-3;
}

double BenchmarkRow::gb_per_s() const {
  return static_cast<double>((work.bytes_read + work.bytes_written).value()) / median_us * 1e-3;
}

std::vector<BenchmarkRow> benchmark_gemm(Communicator& communicator,
                                         const std::vector<models::MatmulShape>& shapes,
                                         BenchmarkTime time) {
  std::vector<BenchmarkRow> rows;
  for (const models::MatmulShape& shape : shapes) {
    const std::vector<float> a = random_values(shape.m * shape.k);
    const std::vector<float> b = random_values(shape.k * shape.n);
    std::vector<float> c(static_cast<std::size_t>(shape.m * shape.n));
    rows.push_back(measured(
        communicator, time,
        fmt::format("{} {}{}", by({shape.m, shape.n, shape.k}), letter(shape.a), letter(shape.b)),
        [&](models::WorkCount& count) {
          kernels::matmul<float>(shape, a, b, {}, c, kernels::Write::overwrite, count);
        }));
  }
  return rows;
}

std::vector<BenchmarkRow> benchmark_attention(Communicator& communicator,
                                              const std::vector<models::AttentionShape>& shapes,
                                              BenchmarkTime time) {
  std::vector<BenchmarkRow> rows;
  for (const models::AttentionShape& shape : shapes) {
    const std::int64_t heads = shape.batch * shape.heads;
    const std::int64_t values = heads * shape.tokens * shape.head_dimension;
    const std::int64_t square = shape.tokens * shape.tokens;
    const std::vector<float> qkv = random_values(3 * values);
    const std::vector<float> d_out = random_values(values);
    std::vector<float> out(static_cast<std::size_t>(values));
    std::vector<float> probabilities(static_cast<std::size_t>(heads * square));
    std::vector<float> d_qkv(static_cast<std::size_t>(3 * values));
    std::vector<float> workspace(static_cast<std::size_t>(square));
    const std::string what = by({shape.batch, shape.heads, shape.tokens, shape.head_dimension});
    rows.push_back(measured(communicator, time, what + " forward", [&](models::WorkCount& count) {
      kernels::attention<float>(shape, qkv, out, probabilities, count);
    }));
    rows.push_back(measured(communicator, time, what + " backward", [&](models::WorkCount& count) {
      kernels::attention_gradient<float>(shape, d_out, qkv, probabilities, d_qkv, workspace, count);
    }));
  }
  return rows;
}

std::vector<BenchmarkRow> benchmark_memory(Communicator& communicator,
                                           const std::vector<std::int64_t>& vector_bytes,
                                           BenchmarkTime time) {
  std::vector<BenchmarkRow> rows;
  for (const std::int64_t bytes : vector_bytes) {
    const std::int64_t elements = bytes / static_cast<std::int64_t>(sizeof(float));
    const std::vector<float> a = random_values(elements);
    const std::vector<float> b = random_values(elements);
    std::vector<float> c(static_cast<std::size_t>(elements));
    const std::string size = std::to_string(bytes) + " B ";
    rows.push_back(measured(communicator, time, size + "copy", [&](models::WorkCount& count) {
      std::memcpy(c.data(), a.data(), a.size() * sizeof(float));
      kernels::count_read(count, std::span(a));
      kernels::count_written(count, std::span(c));
    }));
    rows.push_back(measured(communicator, time, size + "add", [&](models::WorkCount& count) {
      kernels::add<float>({.elements = elements}, a, b, c, count);
    }));
    rows.push_back(measured(communicator, time, size + "accumulate", [&](models::WorkCount& count) {
      kernels::add_into(c, a);
      kernels::count_read(count, std::span(a));
      kernels::count_updated(count, kernels::Write::add, std::span(c));
    }));
  }
  return rows;
}

}  // namespace paceline::runtime
