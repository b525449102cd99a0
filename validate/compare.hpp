#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/report.hpp"

namespace paceline::validate {

/// One quantity in two reports. Relative error: predicted / measured − 1. Between two reports of
/// one kind `predicted_us` is the one that is compared and `measured_us` the one it is compared
/// with.
struct Difference {
  std::string what;
  double predicted_us = 0;
  double measured_us = 0;
  /// Measured, as it would have been at the prediction's reference rate.
  double normalised_us = 0;
  [[nodiscard]] double raw_error() const;
  [[nodiscard]] double normalised_error() const;
};

struct Comparison {
  Difference step;
  std::vector<Difference> phases;  // averaged over ranks
  std::vector<Difference> kinds;   // sum over the operations of a kind, rank 0
  /// Rank 0's step by class, in the order of `operation_classes`: they sum to the step.
  std::vector<Difference> classes;
  std::vector<Difference> collectives;  // by id
  std::vector<Difference> operations;   // by id
  std::vector<std::string> only_in_one;
};

/// products, attention, norms, elementwise (all other kernels), optimizer, host (what no operation
/// and no wait explains), collectives (exposed communication), waits (for stragglers, data, copies,
/// other stages).
[[nodiscard]] const std::vector<std::string>& operation_classes();

/// Why a report cannot be trusted: phases that do not sum to the step (predicted to 1 ps per
/// phase's rounding, measured to 1 %); ranks that disagree with the world size, or with each other
/// about the collectives that they counted or the FLOPs of equal micro-batches; a bandwidth
/// measured by one rank alone. Empty if nothing is wrong.
[[nodiscard]] std::vector<std::string> faults_of(const core::Report& report);

/// Joins a prediction and a measurement of the same experiment by operation. Throws
/// `core::ConfigError` if they are of different experiments or Programs, or if `faults_of` finds
/// something; names are for messages.
[[nodiscard]] Comparison compare(const core::Report& predicted, const core::Report& measured,
                                 const std::string& predicted_name,
                                 const std::string& measured_name);

/// Joins two reports of one kind, of whatever experiments: `compared` takes the place of the
/// prediction, `baseline` that of the measurement. Throws as above for what `faults_of` finds.
[[nodiscard]] Comparison compare_alike(const core::Report& compared, const core::Report& baseline,
                                       const std::string& compared_name,
                                       const std::string& baseline_name);

/// Whether two reports are of the same experiment.
[[nodiscard]] bool same_experiment(const core::Report& a, const core::Report& b);

}  // namespace paceline::validate
