#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/report.hpp"
#include "validate/compare.hpp"

/// How far off the predictions of a whole set of runs are.
namespace paceline::validate {

/// Identical repeats joined: each quantity's median over them. All must be comparisons with the
/// same prediction; what is missing in a repeat counts in the others.
/// Throws `core::InvariantError` if there is none.
[[nodiscard]] Comparison median_of(const std::vector<Comparison>& repeats);

/// How much identical repeats differ: longest step / shortest − 1; 0 for one.
struct RepeatSpread {
  double raw = 0;
  double normalised = 0;
};
[[nodiscard]] RepeatSpread spread_of(const std::vector<Comparison>& repeats);

/// One configuration under one prediction.
struct RunSetRow {
  std::string name;        // of the configuration
  std::string prediction;  // what stands between "predicted" and ".json", usually nothing
  std::string model;
  std::int64_t world_size = 1;
  std::int64_t global_batch = 0;
  std::size_t repeats = 0;
  /// Medians of the repeats.
  Difference step;
  RepeatSpread spread;
  bool has_reference_rates = false;  // both sides; else normalised is raw
  /// Whether the prediction's 90 % interval holds the normalised median; empty without interval.
  std::optional<bool> inside_interval_90;
  /// FLOPs of one step over all ranks, as the run counted them, else as the Program states them.
  double step_flops = 0;
  /// The prediction's reference rate, or 1 without rates.
  double reference_gflop_per_s = 1;
};

/// Absolute relative errors over the rows of a set.
struct ErrorSummary {
  std::string predictor;   // who predicted
  std::string prediction;  // which rows, as in `RunSetRow`
  std::size_t rows = 0;
  double median_raw = 0;
  double worst_raw = 0;
  double median_normalised = 0;
  double worst_normalised = 0;
};

struct RunSet {
  std::vector<RunSetRow> rows;  // by prediction, then name
  /// For each prediction: Paceline's, then what trivial predictors reach on the same rows, each row
  /// predicted from all others:
  /// - `flops`: step FLOPs / mean over the other rows of (step FLOPs / step time);
  /// - `flops_per_rank`: the same with the FLOPs of one rank.
  /// Their times are measured in reference products for the normalised error. One row has none.
  std::vector<ErrorSummary> summaries;
  std::vector<std::string> unpaired;  // files without a partner
};

/// Reads pairs `<name>.predicted*.json` and `<name>.measured.<k>.json` of `folder` (not below it).
/// Throws `core::ConfigError` with the faults of all files and pairs, or if there is no pair.
[[nodiscard]] RunSet read_run_set(const std::filesystem::path& folder);

/// The summaries of `rows`, as `RunSet` states them.
[[nodiscard]] std::vector<ErrorSummary> summarise(const std::vector<RunSetRow>& rows);

}  // namespace paceline::validate
