#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/vocabulary.hpp"
#include "runtime/comm/communicator.hpp"

/// Collectives as nccl-tests measures and reports them, so that the two tables can be laid side by
/// side: time is the mean over iterations, averaged over ranks; algbw = size / time; busbw = algbw
/// × 2(n − 1)/n for an all-reduce of n ranks, × 1 for sendrecv; GB = 1e9 bytes.
/// Source: github.com/NVIDIA/nccl-tests, doc/PERFORMANCE.md.
namespace paceline::runtime {

enum class BenchmarkCollective : std::uint8_t {
  all_reduce,  // the ring schedule that training executes
  sendrecv     // every rank sends to the next one and receives from the previous one
};

struct CollectiveBenchmark {
  BenchmarkCollective collective = BenchmarkCollective::all_reduce;
  std::int64_t min_bytes = 8;
  std::int64_t max_bytes = std::int64_t{64} << 20;
  double step_factor = 2;
  int iterations = 20;
  int warmup_iterations = 5;
};

struct CollectiveTimes {
  double time_us = 0;
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
  std::int64_t wrong = 0;  // elements that do not hold the right result, over all ranks
};

struct CollectiveRow {
  std::int64_t bytes = 0;
  std::int64_t elements = 0;
  CollectiveTimes out_of_place;  // the result in a second buffer, copied there first
  CollectiveTimes in_place;      // of all_reduce only
};

/// busbw / algbw.
[[nodiscard]] double bus_bandwidth_factor(BenchmarkCollective collective, int ranks);

/// Collective: every rank calls it and gets the same rows.
[[nodiscard]] std::vector<CollectiveRow> benchmark_collective(Communicator& communicator,
                                                              const CollectiveBenchmark& settings);

/// The rows as nccl-tests prints them, with its header lines and its tail.
[[nodiscard]] std::string nccl_tests_text(const CollectiveBenchmark& settings, int ranks,
                                          const std::string& library,
                                          const std::vector<CollectiveRow>& rows);

}  // namespace paceline::runtime

namespace paceline::core {
template <>
struct Spelling<runtime::BenchmarkCollective> {
  static constexpr std::array words{"all_reduce", "sendrecv"};
};
}  // namespace paceline::core
