#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/vocabulary.hpp"

/// What a training step costs, predicted or measured: one contract for both, so that they compare
/// key by key. Times in microseconds, memory in bytes, rates in 1e9 bytes per second.
namespace paceline::core {

/// Spread over steps. A prediction without noise has three equal values.
struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

struct StepTime {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  /// Uncertainty of a prediction (never the spread over steps): [low, high].
  std::optional<std::vector<double>> interval_50;
  std::optional<std::vector<double>> interval_90;
  /// Measured: every timed step, in order; the slowest rank's.
  std::optional<std::vector<double>> samples;
};

using PhaseTimes = PerEnum<TimelinePhase, double>;
using MemoryByCategory = PerEnum<MemoryCategory, Bytes>;

struct RankReport {
  int rank = 0;
  std::string device;
  std::int64_t micro_batch = 0;
  int represents = 1;  // ranks in the same situation
  /// Partition of the step: they sum to it (predicted to 1 ps, measured to 1 %).
  PhaseTimes phases_us;
  Bytes peak_memory_total;
  MemoryByCategory peak_memory;
  /// Measured: rise of peak resident memory over the step (VmHWM).
  std::optional<Bytes> resident_rise;
  /// Measured: this rank's clock minus rank 0's, and how sure that is.
  std::optional<double> clock_offset_us;
  std::optional<double> clock_uncertainty_us;
  std::vector<std::string> not_counted;
  /// Predicted for GPUs: the card's memory, and the most images a micro-step may have in it.
  std::optional<Bytes> memory_capacity;
  std::optional<std::int64_t> largest_micro_batch;
};

struct CollectiveReport {
  std::string id;
  std::string kind;
  Bytes bytes;
  std::string algorithm;
  std::string protocol;
  int ranks = 0;
  double time_us = 0;  // from the last member's arrival to the end
  double algbw_gb_per_s = 0;
  double busbw_gb_per_s = 0;
};

struct OperationReport {
  std::string id;
  std::string kind;
  int layer = -1;
  std::string phase;
  std::int64_t calls = 0;  // timed ones
  Spread time_us;
  Flops flops;
  Bytes bytes;
};

/// Sums over one step, as the Program states them or as the run's kernels counted them.
struct CountedWork {
  std::int64_t calls = 0;
  Flops flops;
  Bytes bytes_read;
  Bytes bytes_written;
  bool operator==(const CountedWork&) const = default;
};

/// The reference product that brackets every CPU step: what this host gave at that time.
struct ReferenceRate {
  double gflop_per_s = 0;
  double p10 = 0;
  double p90 = 0;
};

struct TrainingResult {
  std::int64_t epochs = 0;
  std::vector<double> loss_by_epoch;
  std::vector<double> held_out_accuracy_by_epoch;
  double train_accuracy = 0;
  double held_out_accuracy = 0;
  std::int64_t held_out_samples = 0;
  double wall_time_s = 0;
};

struct Assumption {
  std::string key;
  std::string value;
  std::string origin;
  double step_time_us_low = 0;
  double step_time_us_high = 0;
};

struct TrackRecord {
  std::string set;
  std::int64_t runs = 0;
  double median_error = 0;
  double worst_error = 0;
};

struct Bottleneck {
  Cause cause = Cause::unexplained;
  std::string sentence;
};

struct Identity {
  std::string version;
  std::string experiment_hash;
  std::string profile_hash;
  /// By rank.
  std::vector<std::string> program_hashes;
};

struct Report {
  ReportKind kind = ReportKind::predicted;
  Identity identity;
  /// Where and when: host, libraries, paths, wall clock; comparisons skip it.
  std::map<std::string, std::string> provenance;
  std::string model;
  std::string framework;
  std::int64_t world_size = 1;
  std::int64_t global_batch = 0;
  std::int64_t accumulation_steps = 1;
  bool overlap = false;
  bool fits = true;
  std::optional<StepTime> step_time_us;
  std::optional<double> first_step_us;
  std::optional<double> images_per_s;
  std::optional<double> model_flop_rate_gflop_per_s;
  std::map<std::string, double> mfu;  // by denominator: dense_peak, measured_ceiling
  std::optional<double> epoch_time_s;
  std::optional<Bytes> gradient_bytes_on_wire;
  std::optional<ReferenceRate> reference_rate;
  std::vector<Assumption> assumptions;
  std::optional<TrackRecord> track_record;
  std::vector<RankReport> ranks;
  std::vector<CollectiveReport> collectives;
  std::vector<OperationReport> operations;  // of rank 0
  /// By rank, then by operation kind.
  std::vector<std::map<std::string, CountedWork>> counted_work;
  std::optional<TrainingResult> training;
  std::optional<Bottleneck> bottleneck;
};

/// Throws `ConfigError` with every fault.
[[nodiscard]] Report read_report(const std::filesystem::path& path);
[[nodiscard]] Report read_report_text(std::string_view text, const std::string& file);
[[nodiscard]] std::string report_text(const Report& report);
[[nodiscard]] std::string report_schema();

}  // namespace paceline::core
