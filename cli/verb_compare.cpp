#include <cmath>
#include <optional>
#include <utility>

#include "cli/html_report.hpp"
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
  return reports;
}

ComparedReports against_measured(std::pair<std::string, core::Report> predicted,
                                 const GivenReports& reports) {
  ComparedReports compared;
  compared.predicted_name = std::move(predicted.first);
  compared.predicted = std::move(predicted.second);
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

ComparedReports against_first(const std::pair<std::string, core::Report>& one,
                              const std::pair<std::string, core::Report>& first) {
  ComparedReports compared;
  compared.sides = ComparedReports::Sides::alike;
  compared.predicted_name = one.first;
  compared.predicted = one.second;
  compared.measured_names = {first.first};
  compared.is_same_experiment = validate::same_experiment(one.second, first.second);
  compared.is_normalised =
      one.second.reference_rate.has_value() && first.second.reference_rate.has_value();
  compared.comparison = validate::compare_alike(one.second, first.second, one.first, first.first);
  return compared;
}

/// Each prediction against the measured reports; where all are of one kind, each against the first.
std::vector<ComparedReports> compare_all(GivenReports reports) {
  std::vector<ComparedReports> all;
  if (!reports.predicted.empty() && !reports.measured.empty()) {
    for (auto& predicted : reports.predicted) {
      all.push_back(against_measured(std::move(predicted), reports));
    }
    return all;
  }
  const auto& alike = reports.predicted.empty() ? reports.measured : reports.predicted;
  for (std::size_t i = 1; i < alike.size(); ++i) {
    all.push_back(against_first(alike[i], alike.front()));
  }
  return all;
}

int compare(const Arguments& arguments, const Console& console) {
  std::optional<double> tolerance;
  if (const auto text = arguments.value("tolerance")) {
    tolerance = not_negative_number("tolerance", *text);
  }
  const auto file = output_file(arguments, "json");
  const auto page_file = output_file(arguments, "html");
  if (page_file) {
    std::vector<core::Report> reports;
    reports.reserve(arguments.positional.size());
    for (const std::string& path : arguments.positional) reports.push_back(core::read_report(path));
    page_file->write(html_report(reports), console);
  }
  const std::vector<ComparedReports> all = compare_all(read_all(arguments.positional));
  if (file) file->write(comparison_text(all), console);
  if (!file || !file->is_standard_output()) {
    console.print(comparisons_screen(all, console.width));
  }
  if (!tolerance) return 0;
  int code = 0;
  for (const ComparedReports& compared : all) {
    const double error = compared.step_error();
    if (std::abs(error) <= *tolerance) continue;
    console.complain((all.size() > 1 ? compared.predicted_name + ": " : "") +
                     "the step is off by " + signed_percent(error) +
                     (compared.is_normalised ? " normalised" : "") + " (tolerance " +
                     percent(*tolerance) + ")\n");
    code = 1;
  }
  return code;
}

}  // namespace

Verb compare_verb() {
  return {.name = "compare",
          .summary = "how far reports differ, operation by operation",
          .operands = "REPORT REPORT…",
          .arity = {2},
          .about =
              "Joins reports by operation, phase and collective. Predicted and measured ones must "
              "be of the same experiment: each prediction is compared with the median of the "
              "measured runs. Reports of one kind are each compared with the first, whatever "
              "their experiments. The error is predicted / measured − 1, or this / first − 1. "
              "Where both sides state the rate of the reference product, the normalised error is "
              "the one at the prediction's rate. Refused are reports whose phases do not add up, "
              "whose ranks disagree, or with a bandwidth that one rank measured alone.",
          .examples = {"paceline compare predicted.json measured.json",
                       "paceline compare predicted.json measured.1.json measured.2.json "
                       "--tolerance 0.15"},
          .options = {{"tolerance", "SHARE",
                       "exit with 1 if the step is off by more, as 0.1 for 10 %; the normalised "
                       "error where there is one"},
                      {"html", "FILE", "write a page of charts, the reports side by side"},
                      {"json", "FILE", "write the comparison; - is standard output"}},
          .run = compare};
}

}  // namespace paceline::cli
