#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"

/// One kernel hot in a loop of its own, on all ranks at once: `paceline-rt bench`. Calibration
/// measures kernels inside training steps instead; here is what they give at their best.
namespace paceline::runtime {

struct BenchmarkRow {
  std::string what;
  /// One call, microseconds: quantiles over calls on each rank, then the slowest rank's.
  double median_us = 0, p10_us = 0, p90_us = 0;
  std::int64_t calls = 0;
  /// Of one call, as the kernel counted it from its own arguments.
  models::WorkCount work;

  /// 1e9 FLOPs, or bytes read and written, per second at the median.
  [[nodiscard]] double gflop_per_s() const;
  [[nodiscard]] double gb_per_s() const;
};

/// How long each row is measured, about.
struct BenchmarkTime {
  double seconds_per_row = 0.2;
};

/// Products of each shape, fp32, operands of random numbers. Collective: every rank calls it and
/// gets the same rows; so do the others below.
[[nodiscard]] std::vector<BenchmarkRow> benchmark_gemm(
    Communicator& communicator, const std::vector<models::MatmulShape>& shapes, BenchmarkTime time);

/// Attention forward and backward of each shape.
[[nodiscard]] std::vector<BenchmarkRow> benchmark_attention(
    Communicator& communicator, const std::vector<models::AttentionShape>& shapes,
    BenchmarkTime time);

/// copy (1 read, 1 written), add (2 read, 1 written) and accumulate (2 read, 1 written) over
/// vectors of each size in bytes; a size is that of one vector.
[[nodiscard]] std::vector<BenchmarkRow> benchmark_memory(
    Communicator& communicator, const std::vector<std::int64_t>& vector_bytes, BenchmarkTime time);

}  // namespace paceline::runtime
