#include <cmath>
#include <optional>
#include <utility>

#include "cli/output_file.hpp"
#include "cli/quantity_text.hpp"
#include "cli/render_comparison.hpp"
#include "cli/verb.hpp"
#include "core/error.hpp"
#include "core/report.hpp"

namespace paceline::cli {
namespace {

/// Reports by kind, each with its file.
struct GivenReports {
  std::vector<std::pair<std::string, core::Report>> predicted;
  std::vector<std::pair<std::string, core::Report>> measured;
};

GivenReports read_all(const std::vector<std::string>& paths) {
  GivenReports reports;
  std::vector<core::Fault> faults;
  for (const std::string& path : paths) {
    try {
      core::Report report = core::read_report(path);
      const bool is_prediction = report.kind == core::ReportKind::predicted;
      auto& list = is_prediction ? reports.predicted : reports.measured;
      list.emplace_back(path, std::move(report));
    } catch (const core::ConfigError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!faults.empty()) throw core::ConfigError(std::move(faults));
  if (reports.predicted.size() != 1 || reports.measured.empty()) {
    throw core::UsageError("paceline compare: got " + std::to_string(reports.predicted.size()) +
                           " predicted and " + std::to_string(reports.measured.size()) +
                           " measured reports (must be one predicted and one or more measured)");
  }
  return reports;
}

ComparedReports compare_all(GivenReports reports) {
  ComparedReports compared;
  compared.predicted_name = reports.predicted.front().first;
  compared.predicted = std::move(reports.predicted.front().second);
  compared.is_normalised = compared.predicted.reference_rate.has_value();
  std::vector<validate::Comparison> repeats;
  for (const auto& [name, measured] : reports.measured) {
    compared.measured_names.push_back(name);
    compared.is_normalised = compared.is_normalised && measured.reference_rate.has_value();
    repeats.push_back(
        validate::compare(compared.predicted, measured, compared.predicted_name, name));
  }
  compared.comparison = validate::median_of(repeats);
  compared.spread = validate::spread_of(repeats);
  return compared;
}

int compare(const Arguments& arguments, const Console& console) {
  std::optional<double> tolerance;
  if (const auto text = arguments.value("tolerance")) {
    tolerance = not_negative_number("tolerance", *text);
  }
  const auto file = output_file(arguments, "json");
  const ComparedReports compared = compare_all(read_all(arguments.positional));
  if (file) file->write(comparison_text(compared), console);
  if (!file || !file->is_standard_output()) {
    console.print(comparison_screen(compared, console.width));
  }
  const double error = compared.step_error();
  if (!tolerance || std::abs(error) <= *tolerance) return 0;
  console.complain("the step is off by " + signed_percent(error) +
                   (compared.is_normalised ? " normalised" : "") + " (tolerance " +
                   percent(*tolerance) + ")\n");
  return 1;
}

}  // namespace

Verb compare_verb() {
  return {.name = "compare",
          .summary = "how far off a prediction was, operation by operation",
          .operands = "REPORT REPORT…",
          .arity = {2},
          .about =
              "Joins one predicted report and one or more measured reports of the same "
              "experiment by operation; of several measured ones it takes medians. The error "
              "is predicted / measured − 1. Where both sides state the rate of the reference "
              "product, the normalised error is the one at the prediction's rate.",
          .examples = {"paceline compare predicted.json measured.json",
                       "paceline compare predicted.json measured.1.json measured.2.json "
                       "--tolerance 0.15"},
          .options = {{"tolerance", "SHARE",
                       "exit with 1 if the step is off by more, as 0.1 for 10 %; the normalised "
                       "error where there is one"},
                      {"json", "FILE", "write the comparison; - is standard output"}},
          .run = compare};
}

}  // namespace paceline::cli
