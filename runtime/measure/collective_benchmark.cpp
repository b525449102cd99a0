#include "runtime/measure/collective_benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "core/error.hpp"
#include "runtime/comm/numbers.hpp"
#include "runtime/comm/ring.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

/// Small whole numbers, so that sums are exact in any order.
float value_of(int rank, std::size_t element) {
  constexpr std::size_t period = 64;
  return static_cast<float>(static_cast<std::size_t>(rank + 1) * (element % period + 1));
}

class Bench {
 public:
  Bench(Communicator& communicator, const CollectiveBenchmark& settings)
      : communicator_(communicator),
        settings_(settings),
        ranks_(static_cast<std::size_t>(communicator.size())) {
    std::iota(ranks_.begin(), ranks_.end(), 0);
    const auto most = static_cast<std::size_t>(settings.max_bytes) / sizeof(float);
    sent_.resize(most);
    result_.resize(most);
    slice_.resize(static_cast<std::size_t>(
        models::ring_slice_elements(communicator.size(), static_cast<std::int64_t>(most))));
  }

  [[nodiscard]] CollectiveTimes out_of_place(std::size_t elements) {
    return times(elements, [&] { run(elements, Place::out_of_place); });
  }
  [[nodiscard]] CollectiveTimes in_place(std::size_t elements) {
    return times(elements, [&] { run(elements, Place::in_place); });
  }

 private:
  enum class Place : std::uint8_t { out_of_place, in_place };

  void run(std::size_t elements, Place place) {
    const std::span<float> sent = std::span(sent_).first(elements);
    const std::span<float> result = std::span(result_).first(elements);
    if (settings_.collective == BenchmarkCollective::sendrecv) {
      const int size = communicator_.size();
      communicator_.start_exchange((communicator_.rank() + 1) % size, std::as_bytes(sent),
                                   (communicator_.rank() + size - 1) % size,
                                   std::as_writable_bytes(result));
      while (!communicator_.exchange_done()) {
      }
      return;
    }
    if (place == Place::out_of_place) std::copy(sent.begin(), sent.end(), result.begin());
    RingAllReduce ring(communicator_, ranks_, result, slice_);
    while (!ring.poll()) {
    }
  }

  [[nodiscard]] float right_value(std::size_t element) const {
    const int size = communicator_.size();
    if (settings_.collective == BenchmarkCollective::sendrecv) {
      return value_of((communicator_.rank() + size - 1) % size, element);
    }
    float sum = 0;
    for (int rank = 0; rank < size; ++rank) sum += value_of(rank, element);
    return sum;
  }

  template <class Run>
  CollectiveTimes times(std::size_t elements, const Run& run_once) {
    for (std::size_t i = 0; i < elements; ++i) {
      sent_[i] = value_of(communicator_.rank(), i);
      result_[i] = sent_[i];
    }
    communicator_.barrier();
    run_once();
    double wrong = 0;
    for (std::size_t i = 0; i < elements; ++i) {
      if (result_[i] != right_value(i)) wrong += 1;
    }
    std::fill(result_.begin(), result_.end(), 0.0F);  // repeated sums in place must not overflow
    for (int i = 0; i < settings_.warmup_iterations; ++i) run_once();
    communicator_.barrier();
    const std::int64_t begin = now_ns();
    for (int i = 0; i < settings_.iterations; ++i) run_once();
    const double mine = static_cast<double>(now_ns() - begin) * 1e-3 / settings_.iterations;
    std::vector<double> sums{0.0, 0.0};
    for (const auto& theirs : gather_numbers(communicator_, {mine, wrong})) {
      sums[0] += theirs[0];
      sums[1] += theirs[1];
    }
    sums = broadcast_numbers(communicator_, sums);
    CollectiveTimes result;
    result.time_us = sums[0] / communicator_.size();
    result.wrong = static_cast<std::int64_t>(sums[1]);
    result.algbw_gb_per_s = static_cast<double>(elements * sizeof(float)) / result.time_us * 1e-3;
    result.busbw_gb_per_s =
        result.algbw_gb_per_s * bus_bandwidth_factor(settings_.collective, communicator_.size());
    return result;
  }

  Communicator& communicator_;
  const CollectiveBenchmark& settings_;
  std::vector<int> ranks_;
  std::vector<float> sent_, result_, slice_;
};

std::string columns(const CollectiveTimes& times) {
  return fmt::format("  {:>7.2f} {:>7.2f} {:>7.2f} {:>6}", times.time_us, times.algbw_gb_per_s,
                     times.busbw_gb_per_s, times.wrong);
}

}  // namespace

double bus_bandwidth_factor(BenchmarkCollective collective, int ranks) {
  return collective == BenchmarkCollective::sendrecv ? 1.0 : 2.0 * (ranks - 1) / ranks;
}

std::vector<CollectiveRow> benchmark_collective(Communicator& communicator,
                                                const CollectiveBenchmark& settings) {
  if (communicator.size() < 2) {
    throw core::UsageError(
        "bench collectives needs 2 ranks or more, 1 was started (mpirun -n 2 paceline-rt bench "
        "collectives)");
  }
  Bench bench(communicator, settings);
  std::vector<CollectiveRow> rows;
  constexpr auto element_bytes = static_cast<std::int64_t>(sizeof(float));
  double size = static_cast<double>(settings.min_bytes);
  while (size <= static_cast<double>(settings.max_bytes)) {
    CollectiveRow row;
    row.elements = std::max<std::int64_t>(1, static_cast<std::int64_t>(size) / element_bytes);
    row.bytes = row.elements * element_bytes;
    row.out_of_place = bench.out_of_place(static_cast<std::size_t>(row.elements));
    if (settings.collective == BenchmarkCollective::all_reduce) {
      row.in_place = bench.in_place(static_cast<std::size_t>(row.elements));
    }
    rows.push_back(row);
    size *= settings.step_factor;
  }
  return rows;
}

std::string nccl_tests_text(const CollectiveBenchmark& settings, int ranks,
                            const std::string& library, const std::vector<CollectiveRow>& rows) {
  const bool has_in_place = settings.collective == BenchmarkCollective::all_reduce;
  std::string text = fmt::format(
      "# {} ranks {} minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} "
      "validation: 1\n# {}, CPU buffers; times: mean over iterations, averaged over ranks\n#\n",
      core::spelling(settings.collective), ranks, settings.min_bytes, settings.max_bytes,
      settings.step_factor, settings.warmup_iterations, settings.iterations, library);
  text +=
      "#                                                              out-of-place               "
      "        in-place\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     "
      "time   algbw   busbw #wrong\n"
      "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            "
      "(us)  (GB/s)  (GB/s)\n";
  double bandwidth = 0;
  std::int64_t wrong = 0;
  for (const CollectiveRow& row : rows) {
    text += fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}", row.bytes, row.elements, "float",
                        has_in_place ? "sum" : "none", -1);
    text += columns(row.out_of_place);
    wrong += row.out_of_place.wrong + row.in_place.wrong;
    bandwidth += row.out_of_place.busbw_gb_per_s;
    if (has_in_place) {
      text += columns(row.in_place);
      bandwidth += row.in_place.busbw_gb_per_s;
    } else {
      text += fmt::format("  {:>7} {:>7} {:>7} {:>6}", "N/A", "N/A", "N/A", "N/A");
    }
    text += "\n";
  }
  const auto measured = static_cast<double>(rows.size() * (has_in_place ? 2 : 1));
  return text + fmt::format("# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.6g}\n#\n",
                            wrong, wrong == 0 ? "OK" : "FAILED",
                            measured > 0 ? bandwidth / measured : 0.0);
}

}  // namespace paceline::runtime
