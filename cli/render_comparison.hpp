#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/report.hpp"
#include "validate/compare.hpp"
#include "validate/run_set.hpp"

namespace paceline::cli {

/// One prediction against one or more measured repeats of it; or one report against another of its
/// kind, which then stands in the place of the measured one.
struct ComparedReports {
  enum class Sides : std::uint8_t { prediction_and_measurement, alike };
  Sides sides = Sides::prediction_and_measurement;
  std::string predicted_name;
  core::Report predicted;
  std::vector<std::string> measured_names;
  /// Of two reports that are alike: whether they are of the same experiment.
  bool is_same_experiment = true;
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

/// Several: a table of their steps first, then each one's screen.
[[nodiscard]] std::string comparisons_screen(const std::vector<ComparedReports>& all, int width);

/// `"schema": "paceline/comparison/1"` of the first, the others under `further` in the same form.
/// Errors that are not finite are null. Throws `core::InvariantError` if there is none.
[[nodiscard]] std::string comparison_text(const std::vector<ComparedReports>& all);

}  // namespace paceline::cli
