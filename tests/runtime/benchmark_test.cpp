#include <gmock/gmock.h>

#include "core/error.hpp"
#include "runtime/measure/collective_benchmark.hpp"
#include "runtime/measure/kernel_benchmark.hpp"

namespace paceline::runtime {
namespace {

constexpr BenchmarkTime quick{.seconds_per_row = 0.001};

TEST(KernelBenchmark, rates_come_from_what_the_kernel_counted) {
  const auto communicator = make_single_communicator();
  const auto rows = benchmark_gemm(*communicator, {{.m = 4, .n = 8, .k = 16}}, quick);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].what, "4x8x16 nn");
  EXPECT_EQ(rows[0].work.flops.value(), 2 * 4 * 8 * 16);
  EXPECT_EQ(rows[0].work.calls, 1);
  EXPECT_GE(rows[0].calls, 5);
  BenchmarkRow row = rows[0];
  row.median_us = 2.0;
  // 1024 FLOPs in 2 us: 0.512 GFLOP/s. A 64 and B 128 values read, C 32 written: 224 · 4 bytes.
  EXPECT_DOUBLE_EQ(row.gflop_per_s(), 0.512);
  EXPECT_DOUBLE_EQ(row.gb_per_s(), 0.448);
}

TEST(KernelBenchmark, attention_runs_both_ways) {
  const auto communicator = make_single_communicator();
  const auto rows = benchmark_attention(
      *communicator, {{.batch = 2, .heads = 3, .tokens = 5, .head_dimension = 4}}, quick);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].what, "2x3x5x4 forward");
  EXPECT_EQ(rows[1].what, "2x3x5x4 backward");
  // 4·b·h·s²·d and 8·b·h·s²·d.
  EXPECT_EQ(rows[0].work.flops.value(), 4 * 2 * 3 * 25 * 4);
  EXPECT_EQ(rows[1].work.flops.value(), 8 * 2 * 3 * 25 * 4);
}

TEST(KernelBenchmark, memory_counts_what_each_kernel_reads_and_writes) {
  const auto communicator = make_single_communicator();
  const auto rows = benchmark_memory(*communicator, {1024}, quick);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].what, "1024 B copy");
  EXPECT_EQ(rows[0].work.bytes_read.value(), 1024);
  EXPECT_EQ(rows[0].work.bytes_written.value(), 1024);
  for (const std::size_t row : {1U, 2U}) {
    EXPECT_EQ(rows[row].work.bytes_read.value(), 2048);
    EXPECT_EQ(rows[row].work.bytes_written.value(), 1024);
  }
}

TEST(CollectiveBenchmark, bus_bandwidth_factors_are_those_of_nccl_tests) {
  // doc/PERFORMANCE.md: all-reduce 2(n − 1)/n, sendrecv 1.
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(BenchmarkCollective::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(BenchmarkCollective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_bandwidth_factor(BenchmarkCollective::sendrecv, 4), 1.0);
}

TEST(CollectiveBenchmark, the_table_reads_as_that_of_nccl_tests) {
  CollectiveBenchmark settings;
  settings.min_bytes = 1024;
  settings.max_bytes = 1024;
  CollectiveRow row{.bytes = 1024, .elements = 256, .out_of_place = {}, .in_place = {}};
  row.out_of_place = {.time_us = 2.5, .algbw_gb_per_s = 0.41, .busbw_gb_per_s = 0.61, .wrong = 0};
  row.in_place = {.time_us = 2, .algbw_gb_per_s = 0.51, .busbw_gb_per_s = 0.77, .wrong = 0};
  // The average of nccl-tests is over all bandwidths of both halves: (0.61 + 0.77) / 2.
  EXPECT_EQ(
      nccl_tests_text(settings, 4, "MPI", {row}),
      "# all_reduce ranks 4 minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 "
      "validation: 1\n"
      "# MPI, CPU buffers; times: mean over iterations, averaged over ranks\n"
      "#\n"
      "#                                                              out-of-place              "
      "         in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n"
      "        1024           256     float     sum      -1     2.50    0.41    0.61      0     "
      "2.00    0.51    0.77      0\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 0.69\n"
      "#\n");
  row.in_place.wrong = 3;
  EXPECT_THAT(nccl_tests_text(settings, 4, "MPI", {row}),
              testing::HasSubstr("# Out of bounds values : 3 FAILED\n"));
}

TEST(CollectiveBenchmark, one_rank_alone_has_no_bandwidth) {
  const auto communicator = make_single_communicator();
  EXPECT_THROW(static_cast<void>(benchmark_collective(*communicator, {})), core::UsageError);
}

}  // namespace
}  // namespace paceline::runtime
