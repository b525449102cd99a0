#include "cli/render_run_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"

namespace paceline::cli {
namespace {

using validate::ErrorSummary;
using validate::RunSet;
using validate::RunSetRow;

using Cells = std::vector<std::string>;

std::string name_of(const RunSetRow& row) {
  return row.prediction.empty() ? row.name : row.name + " [" + row.prediction + "]";
}

/// What the normalised error and its spread need goes last.
std::vector<Column> row_columns() {
  return {{.header = "configuration", .align = Align::left, .shortens = true},
          {.header = "ranks", .drop_order = 5},
          {.header = "images", .drop_order = 2},
          {.header = "runs", .drop_order = 4},
          {.header = "pred. ms", .drop_order = 7},
          {.header = "meas. ms", .drop_order = 6},
          {.header = "error"},
          {.header = "norm. error"},
          {.header = "spread", .drop_order = 3},
          {.header = "norm. spread", .drop_order = 8},
          {.header = "in 90 %", .align = Align::left, .drop_order = 1}};
}

Cells row_cells(const RunSetRow& row) {
  const bool repeated = row.repeats > 1;
  return {name_of(row),
          std::to_string(row.world_size),
          std::to_string(row.global_batch),
          std::to_string(row.repeats),
          significant(row.step.predicted_us / 1e3),
          significant(row.step.measured_us / 1e3),
          signed_percent(row.step.raw_error()),
          row.has_reference_rates ? signed_percent(row.step.normalised_error()) : "–",
          repeated ? percent(row.spread.raw) : "–",
          repeated && row.has_reference_rates ? percent(row.spread.normalised) : "–",
          !row.inside_interval_90   ? "–"
          : *row.inside_interval_90 ? "yes"
                                    : "no"};
}

std::string predictor_name(const ErrorSummary& summary) {
  std::string name = summary.predictor;
  if (name == "paceline") name = "Paceline";
  if (name == "flops") name = "trivial: FLOPs / mean rate of others";
  if (name == "flops_per_rank") name = "trivial: the same by rank";
  return summary.prediction.empty() ? name : name + " [" + summary.prediction + "]";
}

std::vector<Column> summary_columns() {
  return {{.header = "predictor", .align = Align::left, .shortens = true},
          {.header = "rows"},
          {.header = "median error", .drop_order = 2},
          {.header = "worst", .drop_order = 1},
          {.header = "norm. median"},
          {.header = "norm. worst"}};
}

Cells summary_cells(const ErrorSummary& summary) {
  return {predictor_name(summary),
          std::to_string(summary.rows),
          percent(summary.median_raw),
          percent(summary.worst_raw),
          percent(summary.median_normalised),
          percent(summary.worst_normalised)};
}

std::string markdown_line(const Cells& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += ' ';
    for (const char c : cell) line += c == '|' ? std::string("\\|") : std::string(1, c);
    line += " |";
  }
  return line + "\n";
}

std::string markdown_table(const std::vector<Column>& columns, const std::vector<Cells>& rows) {
  Cells headers;
  std::string rule = "|";
  for (const Column& column : columns) {
    headers.push_back(column.header);
    rule += column.align == Align::left ? "---|" : "---:|";
  }
  std::string text = markdown_line(headers) + rule + "\n";
  for (const Cells& row : rows) text += markdown_line(row);
  return text;
}

std::string coverage_sentence(const RunSet& set) {
  const auto with_interval = std::count_if(set.rows.begin(), set.rows.end(), [](const auto& row) {
    return row.inside_interval_90.has_value();
  });
  if (with_interval == 0) return {};
  const auto inside = std::count_if(set.rows.begin(), set.rows.end(), [](const auto& row) {
    return row.inside_interval_90.value_or(false);
  });
  return fmt::format("{} of {} lie inside the prediction's 90 % interval.", inside,
                     counted(with_interval, "median"));
}

}  // namespace

std::string run_set_screen(const RunSet& set, int width) {
  Table rows(row_columns());
  for (const RunSetRow& row : set.rows) rows.add_row(row_cells(row));
  Table summaries(summary_columns());
  for (const ErrorSummary& summary : set.summaries) summaries.add_row(summary_cells(summary));
  std::string screen =
      wrapped(
          "Step time, median of the runs; error = predicted / measured − 1; spread = longest run / "
          "shortest − 1; norm. = at the prediction's reference rate",
          width) +
      "\n" + rows.text(width) + "\nAbsolute errors over the rows\n" + summaries.text(width);
  if (const std::string coverage = coverage_sentence(set); !coverage.empty()) {
    screen += titled("", wrapped(coverage, width)) + "\n";
  }
  for (std::size_t i = 0; i < set.unpaired.size(); ++i) {
    screen += (i == 0 ? "\nWithout a partner, so not counted\n  " : "  ") + set.unpaired[i] + "\n";
  }
  return screen;
}

std::string run_set_markdown(const RunSet& set) {
  std::vector<Cells> rows;
  rows.reserve(set.rows.size());
  for (const RunSetRow& row : set.rows) rows.push_back(row_cells(row));
  std::vector<Cells> summaries;
  summaries.reserve(set.summaries.size());
  for (const ErrorSummary& one : set.summaries) summaries.push_back(summary_cells(one));
  std::string text =
      markdown_table(summary_columns(), summaries) + "\n" + markdown_table(row_columns(), rows);
  if (const std::string coverage = coverage_sentence(set); !coverage.empty()) {
    text += "\n" + coverage + "\n";
  }
  return text;
}

}  // namespace paceline::cli
