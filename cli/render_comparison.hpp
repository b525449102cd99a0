#pragma once

#include <string>
#include <vector>

#include "core/report.hpp"
#include "validate/compare.hpp"
#include "validate/run_set.hpp"

namespace paceline::cli {

/// One prediction against one or more measured repeats of it.
struct ComparedReports {
  std::string predicted_name;
  core::Report predicted;
  std::vector<std::string> measured_names;
  /// Median of the repeats.
  validate::Comparison comparison;
  validate::RepeatSpread spread;
  /// Both sides state the rate of the reference product, in every repeat.
  bool is_normalised = false;

  /// Of the step: normalised where both sides have reference rates, else raw.
  [[nodiscard]] double step_error() const;
};

/// The screen of `paceline compare`: step, phases, where the difference comes from by kind of
/// operation, collectives, the operations that are furthest off.
[[nodiscard]] std::string comparison_screen(const ComparedReports& compared, int width);

/// `"schema": "paceline/comparison/1"`. Errors that are not finite are null.
[[nodiscard]] std::string comparison_text(const ComparedReports& compared);

}  // namespace paceline::cli
