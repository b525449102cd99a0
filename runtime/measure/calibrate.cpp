#include "runtime/measure/calibrate.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "models/kernel_class.hpp"
#include "models/lowering/lowering.hpp"
#include "runtime/comm/numbers.hpp"
#include "runtime/comm/ring.hpp"
#include "runtime/kernels/reduce.hpp"
#include "runtime/kernels/reference_product.hpp"
#include "runtime/kernels/threads.hpp"
#include "runtime/measure/clock.hpp"
#include "runtime/measure/host.hpp"
#include "runtime/training/batch_source.hpp"
#include "runtime/training/initial_weights.hpp"
#include "runtime/training/step_executor.hpp"

namespace paceline::runtime {
namespace {

constexpr double us_per_ns = 1e-3;

/// A one-block model at one batch: a place where kernels are measured.
struct CalibrationPoint {
  std::int64_t width = 0, heads = 0, image_size = 0, patch_size = 0, batch = 0;
  /// Five points of all sizes train with SGD, clipped gradients and a mean over tokens, the others
  /// with AdamW and a class token.
  core::OptimizerKind optimizer = core::OptimizerKind::adamw;
  /// Small ones divide the parameters into several buckets, whose squares the clipping adds.
  std::int64_t bucket_mib = 25;
};

constexpr auto sgd = core::OptimizerKind::sgd;

/// Widths 48…384, 17…145 tokens, few and many rows; memory-bound kernels from inside a core's cache
/// to far beyond it.
constexpr std::array calibration_points{
    CalibrationPoint{48, 3, 32, 8, 16, sgd},     CalibrationPoint{96, 6, 32, 8, 48},
    CalibrationPoint{96, 3, 32, 4, 4},           CalibrationPoint{160, 5, 32, 8, 32},
    CalibrationPoint{160, 5, 32, 4, 8},          CalibrationPoint{256, 4, 32, 4, 4},
    CalibrationPoint{256, 8, 32, 8, 16},         CalibrationPoint{384, 6, 32, 8, 8},
    CalibrationPoint{384, 6, 32, 4, 2, sgd, 1},  CalibrationPoint{128, 2, 96, 8, 2},
    CalibrationPoint{64, 4, 96, 8, 4},           CalibrationPoint{64, 2, 32, 4, 16},
    CalibrationPoint{128, 4, 32, 4, 24, sgd},    CalibrationPoint{224, 7, 32, 8, 64, sgd, 1},
    CalibrationPoint{320, 5, 32, 4, 12, sgd, 2}, CalibrationPoint{192, 3, 32, 4, 48}};

models::Experiment experiment_of(const CalibrationPoint& point) {
  models::Experiment experiment;
  experiment.model = {.id = "calibration",
                      .image_size = point.image_size,
                      .patch_size = point.patch_size,
                      .width = point.width,
                      .depth = 1,
                      .heads = point.heads,
                      .mlp_hidden = 4 * point.width,
                      .classes = 10};
  experiment.parallel.bucket_mib = point.bucket_mib;
  experiment.training.micro_batch = {point.batch};
  experiment.training.optimizer = point.optimizer;
  if (point.optimizer == sgd) {
    experiment.training.clip_norm = 1.0;
    experiment.model.class_token = false;
  }
  return experiment;
}

using KernelKey = std::pair<std::string, std::map<std::string, double>>;

/// Executes one calibration point's steps and files their kernel times.
class PointRunner {
 public:
  explicit PointRunner(const CalibrationPoint& point)
      : experiment_(experiment_of(point)),
        program_(models::lower_training(experiment_, 0)),
        storage_(program_),
        single_(make_single_communicator()),
        source_(make_synthetic_source(experiment_.model, 1)),
        executor_(program_, storage_, *single_, *source_, nullptr, 0, point.batch) {
    fill_initial_weights(program_, 1, storage_);
    for (const models::Operation& operation : program_.operations) {
      std::map<std::string, double> features;
      for (const auto& feature : models::kernel_features(operation)) {
        features[std::string(feature.name)] = feature.amount;
      }
      keys_.emplace_back(std::string(models::kernel_class(operation)), std::move(features));
    }
  }

  /// One step; `reference` runs before and after it.
  void run(ReferenceProduct& reference) {
    constexpr double reference_share = 0.1;
    const int repeats =
        std::max(1, static_cast<int>(reference_share * last_step_ns_ / reference_ns_));
    const std::int64_t before = reference.run(repeats);
    executor_.run_step(step_++, record_);
    const std::int64_t after = reference.run(repeats);
    reference_ns_ = static_cast<double>(after) / repeats;
    last_step_ns_ = static_cast<double>(record_.end_ns - record_.start_ns);
    references_.push_back(ReferenceProduct::gflop_per_s(2 * repeats, before + after));
    std::vector<double> times;
    times.reserve(record_.timeline.size());
    for (const TimelineEntry& entry : record_.timeline) {
      times.push_back(static_cast<double>(entry.end_ns - entry.begin_ns) * us_per_ns);
      issue_us_.push_back(static_cast<double>(entry.begin_ns - entry.issued_ns) * us_per_ns);
    }
    times_.push_back(std::move(times));
  }

  [[nodiscard]] const std::vector<double>& references() const { return references_; }
  [[nodiscard]] const std::vector<double>& issue_us() const { return issue_us_; }

  /// Files each time as it would be at `reference_gflop_per_s`; the first, cold step apart.
  void file(double reference_gflop_per_s, std::map<KernelKey, std::vector<double>>& samples) const {
    for (std::size_t step = 1; step < times_.size(); ++step) {
      const double factor = references_[step] / reference_gflop_per_s;
      for (std::size_t i = 0; i < keys_.size(); ++i) {
        samples[keys_[i]].push_back(times_[step][i] * factor);
      }
    }
  }

 private:
  models::Experiment experiment_;
  models::Program program_;
  Storage<float> storage_;
  std::unique_ptr<Communicator> single_;
  std::unique_ptr<BatchSource> source_;
  StepExecutor executor_;
  std::vector<KernelKey> keys_;  // by operation, which is also by timeline entry
  std::int64_t step_ = 0;
  double last_step_ns_ = 0;
  double reference_ns_ = 1e6;
  StepRecord record_;
  std::vector<double> references_;
  std::vector<std::vector<double>> times_;
  std::vector<double> issue_us_;
};

struct LevelResult {
  core::MeasuredLevel level;
  double host_issue_us = 0;
};

/// Rounds over all points until `end_ns`. The first two are whole, and the first of them is cold;
/// later ones stop where the time is over.
LevelResult measure_level(int active_ranks, std::int64_t end_ns,
                          const std::function<void()>& after_round) {
  std::vector<std::unique_ptr<PointRunner>> runners;
  runners.reserve(calibration_points.size());
  for (const CalibrationPoint& point : calibration_points) {
    runners.push_back(std::make_unique<PointRunner>(point));
  }
  ReferenceProduct reference;
  constexpr int least_rounds = 2;
  for (int round = 0; round < least_rounds || now_ns() < end_ns; ++round) {
    for (auto& runner : runners) {
      if (round >= least_rounds && now_ns() >= end_ns) break;
      runner->run(reference);
    }
    after_round();
  }
  std::vector<double> references;
  std::vector<double> issue;
  for (const auto& runner : runners) {
    references.insert(references.end(), runner->references().begin(), runner->references().end());
    issue.insert(issue.end(), runner->issue_us().begin(), runner->issue_us().end());
  }
  LevelResult result;
  result.host_issue_us = core::median(issue);
  core::MeasuredLevel& level = result.level;
  level.active_ranks = active_ranks;
  level.reference_gflop_per_s = core::median(references);
  level.reference_p10 = core::quantile(references, 0.1);
  level.reference_p90 = core::quantile(references, 0.9);
  std::map<KernelKey, std::vector<double>> samples;
  for (const auto& runner : runners) runner->file(level.reference_gflop_per_s, samples);
  for (const auto& [key, times] : samples) {
    level.kernels.push_back({.kernel_class = key.first,
                             .features = key.second,
                             .time_us = core::median(times),
                             .p10_us = core::quantile(times, 0.1),
                             .p90_us = core::quantile(times, 0.9),
                             .samples = static_cast<std::int64_t>(times.size())});
  }
  return result;
}

/// The mean of what the active ranks measured; they measure the same kernels in the same order.
core::MeasuredLevel mean_of(const std::vector<core::MeasuredLevel>& levels) {
  core::MeasuredLevel result = levels.front();
  const auto average = [&](auto&& member) {
    double sum = 0;
    for (const core::MeasuredLevel& level : levels) sum += member(level);
    return sum / static_cast<double>(levels.size());
  };
  result.reference_gflop_per_s = average([](const auto& l) { return l.reference_gflop_per_s; });
  result.reference_p10 = average([](const auto& l) { return l.reference_p10; });
  result.reference_p90 = average([](const auto& l) { return l.reference_p90; });
  for (std::size_t i = 0; i < result.kernels.size(); ++i) {
    core::KernelMeasurement& kernel = result.kernels[i];
    // Each rank filed its times at its own reference rate; bring them to the common one.
    const auto at_common_rate = [&](auto member) {
      return average([&](const core::MeasuredLevel& l) {
        return l.kernels.at(i).*member * l.reference_gflop_per_s / result.reference_gflop_per_s;
      });
    };
    kernel.time_us = at_common_rate(&core::KernelMeasurement::time_us);
    kernel.p10_us = at_common_rate(&core::KernelMeasurement::p10_us);
    kernel.p90_us = at_common_rate(&core::KernelMeasurement::p90_us);
    for (std::size_t r = 1; r < levels.size(); ++r) {
      kernel.samples += levels[r].kernels.at(i).samples;
    }
  }
  return result;
}

/// One level on all ranks: the active ones measure, the others wait without using their core.
void add_level(Communicator& communicator, int active_ranks, std::int64_t end_ns,
               const std::function<void()>& after_round, core::Measurements& measurements) {
  communicator.quiet_barrier();
  core::Measurements mine;
  mine.cores = 1;
  if (communicator.rank() < active_ranks) {
    LevelResult result = measure_level(active_ranks, end_ns, after_round);
    mine.host_issue_us = result.host_issue_us;
    mine.levels.push_back(std::move(result.level));
  }
  communicator.quiet_barrier();
  const std::string text = mine.levels.empty() ? "" : core::measurements_text(mine);
  std::vector<core::MeasuredLevel> levels;
  for (const std::string& part : communicator.gather(text)) {
    if (part.empty()) continue;
    const auto read = core::read_measurements_text(part, "rank");
    levels.push_back(read.levels.front());
    measurements.host_issue_us = std::max(measurements.host_issue_us, read.host_issue_us);
  }
  if (!levels.empty()) measurements.levels.push_back(mean_of(levels));
}

std::vector<int> level_sizes(int ranks) {
  std::set<int> sizes{ranks};
  for (int size = 1; size < ranks; size *= 2) sizes.insert(size);
  return {sizes.begin(), sizes.end()};
}

/// A region that repeated calls walk through, so that no buffer stays in a core's own cache.
class WalkingBuffer {
 public:
  WalkingBuffer() : values_(region_values, 1.0F) {}
  [[nodiscard]] std::span<float> next(std::size_t values) {
    if (offset_ + values > region_values) offset_ = 0;
    const std::size_t begin = offset_;
    offset_ += values;
    return std::span(values_).subspan(begin, values);
  }

 private:
  static constexpr std::size_t region_values = std::size_t{8} << 20;  // 32 MiB
  std::vector<float> values_;
  std::size_t offset_ = 0;
};

constexpr std::array exchange_sizes_bytes{64,     1024,    4096,    16384,  65536,
                                          262144, 1048576, 4194304, 8388608};

/// Median over repeats of `measure()` in microseconds, then the slowest rank's; collective. Repeats
/// until `seconds` are over on rank 0, between `least_repeats` and 400.
template <class Measure>
std::array<double, 3> repeated(Communicator& communicator, double seconds, Measure&& measure) {
  constexpr std::size_t most = 400;
  measure();
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  std::vector<double> times;
  double goes_on = 1;
  while (goes_on > 0) {
    for (int i = 0; i < least_repeats; ++i) {
      communicator.barrier();
      const std::int64_t start = now_ns();
      measure();
      times.push_back(static_cast<double>(now_ns() - start) * us_per_ns);
    }
    const bool may_go_on = times.size() < most && now_ns() < end;
    goes_on = broadcast_numbers(communicator, {may_go_on ? 1.0 : 0.0}).front();
  }
  std::array<double, 3> result{core::median(times), core::quantile(times, 0.1),
                               core::quantile(times, 0.9)};
  for (const auto& theirs : gather_numbers(communicator, {result.begin(), result.end()})) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], theirs[i]);
  }
  return result;
}

void measure_exchanges(Communicator& communicator, double seconds,
                       core::Measurements& measurements) {
  constexpr int chain = 4;  // exchanges in a row, as the steps of a ring
  const int next = (communicator.rank() + 1) % communicator.size();
  const int previous = (communicator.rank() + communicator.size() - 1) % communicator.size();
  WalkingBuffer sent;
  WalkingBuffer received;
  for (const int bytes : exchange_sizes_bytes) {
    const auto values = static_cast<std::size_t>(bytes) / sizeof(float);
    const auto times = repeated(communicator, seconds / exchange_sizes_bytes.size(), [&] {
      for (int i = 0; i < chain; ++i) {
        communicator.start_exchange(next, std::as_bytes(sent.next(values)), previous,
                                    std::as_writable_bytes(received.next(values)));
        while (!communicator.exchange_done()) {
        }
      }
    });
    measurements.exchanges.push_back({.bytes = core::Bytes(bytes),
                                      .time_us = times[0] / chain,
                                      .p10_us = times[1] / chain,
                                      .p90_us = times[2] / chain});
  }
}

void measure_reductions(Communicator& communicator, double seconds,
                        core::Measurements& measurements) {
  WalkingBuffer target;
  WalkingBuffer added;
  for (const int bytes : exchange_sizes_bytes) {
    const auto values = static_cast<std::size_t>(bytes) / sizeof(float);
    const auto times = repeated(communicator, seconds / exchange_sizes_bytes.size(), [&] {
      kernels::add_into(target.next(values), added.next(values));
    });
    measurements.reductions.push_back({.bytes = core::Bytes(bytes), .time_us = times[0]});
  }
}

void measure_collectives(Communicator& communicator, double seconds,
                         core::Measurements& measurements) {
  constexpr std::array sizes_bytes{1024, 8192, 65536, 262144, 1048576, 4194304, 8388608, 16777216};
  std::vector<int> ranks(static_cast<std::size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  WalkingBuffer buffer;
  WalkingBuffer received;
  for (const int bytes : sizes_bytes) {
    const auto values = static_cast<std::size_t>(bytes) / sizeof(float);
    const auto times = repeated(communicator, seconds / sizes_bytes.size(), [&] {
      RingAllReduce ring(communicator, ranks, buffer.next(values), received.next(values));
      while (!ring.poll()) {
      }
    });
    measurements.collectives.push_back({.kind = "all_reduce",
                                        .algorithm = "ring",
                                        .ranks = communicator.size(),
                                        .bytes = core::Bytes(bytes),
                                        .time_us = times[0]});
  }
}

/// Logical cores that any of these ranks may use: a launcher may bind each to its own.
std::int64_t cores_of_all(Communicator& communicator) {
  const std::vector<int> mine = allowed_cores();
  std::set<double> all;
  for (const auto& cores : gather_numbers(communicator, {mine.begin(), mine.end()})) {
    all.insert(cores.begin(), cores.end());
  }
  return all.empty() ? usable_cores() : within_quota(static_cast<std::int64_t>(all.size()));
}

}  // namespace

core::Measurements calibrate(Communicator& communicator, const CalibrationSettings& settings) {
  const std::int64_t start_ns = now_ns();
  kernels::set_thread_count(settings.threads_per_rank);
  const auto at_share = [&](double share) {
    return start_ns + static_cast<std::int64_t>(settings.seconds * share * 1e9);
  };
  const auto seconds_until = [&](double share) {
    return std::max(0.0, static_cast<double>(at_share(share) - now_ns()) * 1e-9);
  };
  const auto say = [&](const std::string& what) {
    if (!settings.progress) return;
    settings.progress(what, static_cast<double>(now_ns() - start_ns) * 1e-9 / settings.seconds);
  };
  core::Measurements measurements;
  measurements.provenance = host_provenance();
  measurements.threads_per_rank = settings.threads_per_rank;
  measurements.cores = cores_of_all(communicator);
  measurements.memory = usable_memory();
  measurements.transport = communicator.library();
  const std::vector<int> sizes = level_sizes(communicator.size());
  const double kernel_share = communicator.size() == 1 ? 0.95 : 0.8;
  for (std::size_t level = 0; level < sizes.size(); ++level) {
    const auto says_what = [&, active = sizes[level]] {
      say("kernels, " + std::to_string(active) + " of " + std::to_string(communicator.size()) +
          " ranks at work");
    };
    says_what();
    const double share =
        kernel_share * static_cast<double>(level + 1) / static_cast<double>(sizes.size());
    add_level(communicator, sizes[level], at_share(share), says_what, measurements);
  }
  if (communicator.size() > 1) {
    say("exchanges between ranks");
    measure_exchanges(communicator, 0.4 * seconds_until(1.0), measurements);
    say("reductions");
    measure_reductions(communicator, 0.4 * seconds_until(1.0), measurements);
    say("collectives");
    measure_collectives(communicator, 0.8 * seconds_until(1.0), measurements);
  }
  return communicator.rank() == 0 ? measurements : core::Measurements{};
}

}  // namespace paceline::runtime
