#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/report.hpp"

namespace paceline::validate {

/// One quantity in two reports. Relative error: predicted / measured − 1.
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
  std::vector<Difference> phases;       // averaged over ranks
  std::vector<Difference> kinds;        // sum over the operations of a kind, rank 0
  std::vector<Difference> collectives;  // by id
  std::vector<Difference> operations;   // by id
  std::vector<std::string> only_in_one;
};

/// Why a report cannot be trusted: phases that do not sum to the step (predicted to 1 ps per
/// phase's rounding, measured to 1 %), ranks that disagree with the world size, a bandwidth
/// measured by one rank alone. Empty if nothing is wrong.
[[nodiscard]] std::vector<std::string> faults_of(const core::Report& report);

/// Joins two reports of the same experiment by operation. Throws `core::ConfigError` if they are of
/// different experiments or Programs, or if `faults_of` finds something; `names` are for messages.
[[nodiscard]] Comparison compare(const core::Report& predicted, const core::Report& measured,
                                 const std::string& predicted_name,
                                 const std::string& measured_name);

}  // namespace paceline::validate
