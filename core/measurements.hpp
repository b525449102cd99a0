#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"

/// What `paceline-rt calibrate` measured: raw material for `paceline make-profile`.
namespace paceline::core {

/// One operation at one shape. The time is what it would be at the level's reference rate: measured
/// time × (reference rate beside it / the level's reference rate).
struct KernelMeasurement {
  std::string kernel_class;
  std::map<std::string, double> features;  // as models/kernel_class.hpp names them
  double time_us = 0;                      // median
  double p10_us = 0;
  double p90_us = 0;
  std::int64_t samples = 0;
};

/// All kernels while `active_ranks` ranks of the host compute at once.
struct MeasuredLevel {
  int active_ranks = 1;
  double reference_gflop_per_s = 0;  // median of the reference product, per rank
  double reference_p10 = 0;
  double reference_p90 = 0;
  std::vector<KernelMeasurement> kernels;
};

/// Two ranks each send `bytes` to the other and receive as many, at once.
struct ExchangeMeasurement {
  Bytes bytes;
  double time_us = 0;
  double p10_us = 0;
  double p90_us = 0;
};

/// A whole all-reduce by the ring schedule, timed from the last member's arrival.
struct CollectiveMeasurement {
  std::string kind;
  std::string algorithm;
  int ranks = 2;
  Bytes bytes;
  double time_us = 0;
};

/// Adding a received slice of `bytes` to the own buffer.
struct ReductionMeasurement {
  Bytes bytes;
  double time_us = 0;
};

struct Measurements {
  std::map<std::string, std::string> provenance;  // host, CPU, libraries, wall clock
  int threads_per_rank = 1;
  std::int64_t cores = 0;  // that this process may use
  Bytes memory;            // of the host
  /// Time that the interpreter itself takes per operation.
  double host_issue_us = 0;
  std::vector<MeasuredLevel> levels;
  std::string transport;  // how ranks talk, as the communication library names it
  std::vector<ExchangeMeasurement> exchanges;  // none with one rank
  std::vector<ReductionMeasurement> reductions;
  std::vector<CollectiveMeasurement> collectives;  // to check with, not to fit
};

[[nodiscard]] Measurements read_measurements(const std::filesystem::path& path);
[[nodiscard]] Measurements read_measurements_text(std::string_view text, const std::string& file);
[[nodiscard]] std::string measurements_text(const Measurements& measurements);
[[nodiscard]] std::string measurements_schema();

}  // namespace paceline::core
