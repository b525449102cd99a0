#include "cli/render_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"
#include "core/json.hpp"

namespace paceline::cli {
namespace {

using core::Json;
using validate::Difference;

/// Predicted minus measured at the prediction's reference rate.
double difference_us(const Difference& one) { return one.predicted_us - one.normalised_us; }

double largest_time(const std::vector<Difference>& list) {
  double largest = 0.0;
  for (const Difference& one : list) {
    largest = std::max({largest, one.predicted_us, one.measured_us, one.normalised_us});
  }
  return largest;
}

void sort_by_difference(std::vector<Difference>& list) {
  std::stable_sort(list.begin(), list.end(), [](const Difference& a, const Difference& b) {
    return std::abs(difference_us(a)) > std::abs(difference_us(b));
  });
}

std::string spoken(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Predicted, measured and error; with the normalised pair where there are reference rates.
std::string difference_table(const std::string& what, const std::vector<Difference>& list,
                             bool is_normalised, int width) {
  const double largest = largest_time(list);
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  const std::string name(unit.name);
  Table table({{.header = what, .align = Align::left, .shortens = true},
               {.header = "predicted " + name},
               {.header = "measured " + name, .drop_order = 3},
               {.header = "error", .drop_order = is_normalised ? 2 : 0},
               {.header = "norm. " + name, .drop_order = 1},
               {.header = "norm. error"}});
  for (const Difference& one : list) {
    if (!(one.predicted_us > 0.0) && !(one.measured_us > 0.0)) continue;
    table.add_row({one.what, fixed(one.predicted_us / unit.us, decimals),
                   fixed(one.measured_us / unit.us, decimals), signed_percent(one.raw_error()),
                   is_normalised ? fixed(one.normalised_us / unit.us, decimals) : "",
                   is_normalised ? signed_percent(one.normalised_error()) : ""});
  }
  return table.text(width);
}

std::string headline(const ComparedReports& compared, int width) {
  const core::Report& predicted = compared.predicted;
  const std::size_t repeats = compared.measured_names.size();
  std::string text = fmt::format(
      "{}, {}, {} images a step: {} against {}.", predicted.model,
      counted(predicted.world_size, "rank"), predicted.global_batch, compared.predicted_name,
      repeats == 1 ? compared.measured_names.front()
                   : fmt::format("the median of {} measured runs", repeats));
  if (repeats > 1) {
    text += fmt::format(" The runs differ by {}", percent(compared.spread.raw));
    if (compared.is_normalised) {
      text += fmt::format(" ({} normalised)", percent(compared.spread.normalised));
    }
    text += ".";
  }
  std::string lines = wrapped(text, width) + "\n";
  if (compared.is_normalised && predicted.reference_rate) {
    const Difference& step = compared.comparison.step;
    const double rate = predicted.reference_rate->gflop_per_s;
    lines +=
        wrapped(fmt::format(
                    "Normalised (norm.): as if the host had run its reference product at the "
                    "prediction's {} GFLOP/s; it ran at {}.",
                    significant(rate), significant(rate * step.normalised_us / step.measured_us)),
                width) +
        "\n";
  }
  return lines;
}

/// A bar for one row of the waterfall: █ too long, ▒ too short.
std::string waterfall_bar(double difference, double largest) {
  constexpr int longest = 14;
  if (!(largest > 0.0)) return {};
  const auto cells = static_cast<int>(std::lround(std::abs(difference) / largest * longest));
  std::string bar;
  for (int i = 0; i < cells; ++i) bar += difference > 0.0 ? "█" : "▒";
  return bar;
}

/// Kinds by the size of their difference, small ones added up, and what no operation explains: the
/// rows add up to the difference of the step.
std::vector<Difference> waterfall_rows(const validate::Comparison& comparison) {
  constexpr std::size_t most_rows = 8;
  std::vector<Difference> rows = comparison.kinds;
  sort_by_difference(rows);
  const auto add = [](Difference& to, const Difference& more, double sign) {
    to.predicted_us += sign * more.predicted_us;
    to.measured_us += sign * more.measured_us;
    to.normalised_us += sign * more.normalised_us;
  };
  Difference outside{"between or beside operations", 0, 0, 0};
  add(outside, comparison.step, 1.0);
  for (const Difference& kind : rows) add(outside, kind, -1.0);
  if (rows.size() > most_rows) {
    Difference others{"other kinds", 0, 0, 0};
    for (std::size_t i = most_rows - 1; i < rows.size(); ++i) add(others, rows[i], 1.0);
    rows.resize(most_rows - 1);
    rows.push_back(others);
  }
  rows.push_back(outside);
  return rows;
}

std::string waterfall_block(const ComparedReports& compared, int width) {
  const std::vector<Difference> rows = waterfall_rows(compared.comparison);
  const double largest = largest_time(rows);
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  const std::string name(unit.name);
  double widest = 0.0;
  for (const Difference& one : rows) widest = std::max(widest, std::abs(difference_us(one)));
  Table table(
      {{.header = "kind of operation", .align = Align::left, .shortens = true},
       {.header = "predicted " + name, .drop_order = 2},
       {.header = (compared.is_normalised ? "normalised " : "measured ") + name, .drop_order = 3},
       {.header = "off by " + name},
       {.header = "% of step"},
       {.header = "▒ short █ long", .align = Align::left, .drop_order = 1}});
  const double step_us = compared.comparison.step.normalised_us;
  for (const Difference& one : rows) {
    const double difference = difference_us(one);
    table.add_row({one.what, fixed(one.predicted_us / unit.us, decimals),
                   fixed(one.normalised_us / unit.us, decimals),
                   signed_fixed(difference / unit.us, decimals),
                   step_us > 0.0 ? signed_percent(difference / step_us) : "–",
                   waterfall_bar(difference, widest)});
  }
  return titled("Where the difference comes from (rank 0)", table.text(width));
}

std::string worst_operations(const ComparedReports& compared, int width) {
  constexpr std::size_t most_rows = 8;
  std::vector<Difference> rows = compared.comparison.operations;
  sort_by_difference(rows);
  rows.resize(std::min(rows.size(), most_rows));
  if (rows.empty()) return {};
  return titled("",
                difference_table("operations furthest off", rows, compared.is_normalised, width));
}

std::string collectives_block(const ComparedReports& compared, int width) {
  constexpr std::size_t most_rows = 8;
  std::vector<Difference> rows = compared.comparison.collectives;
  if (rows.empty()) return {};
  if (rows.size() > most_rows) {
    sort_by_difference(rows);
    rows.resize(most_rows);
  }
  return titled("", difference_table("collectives", rows, compared.is_normalised, width));
}

std::string only_in_one_block(const std::vector<std::string>& lines) {
  constexpr std::size_t most_lines = 8;
  std::string block;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i) {
    block += (i == 0 ? "\nOn one side only\n  " : "  ") + lines[i] + "\n";
  }
  if (lines.size() > most_lines) {
    block += fmt::format("  … and {} more (--json lists all)\n", lines.size() - most_lines);
  }
  return block;
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json json_of(const Difference& one) {
  return Json{{"what", one.what},
              {"predicted_us", one.predicted_us},
              {"measured_us", one.measured_us},
              {"normalised_us", one.normalised_us},
              {"raw_error", number_or_null(one.raw_error())},
              {"normalised_error", number_or_null(one.normalised_error())}};
}

Json json_of(const std::vector<Difference>& list) {
  Json json = Json::array();
  for (const Difference& one : list) json.push_back(json_of(one));
  return json;
}

}  // namespace

double ComparedReports::step_error() const {
  return is_normalised ? comparison.step.normalised_error() : comparison.step.raw_error();
}

std::string comparison_screen(const ComparedReports& compared, int width) {
  std::string screen = headline(compared, width);
  std::vector<Difference> phases{compared.comparison.step};
  for (Difference phase : compared.comparison.phases) {
    phase.what = spoken(phase.what);
    phases.push_back(std::move(phase));
  }
  screen += titled("", difference_table("mean over ranks", phases, compared.is_normalised, width));
  if (!compared.comparison.kinds.empty()) screen += waterfall_block(compared, width);
  screen += collectives_block(compared, width);
  screen += worst_operations(compared, width);
  screen += only_in_one_block(compared.comparison.only_in_one);
  return screen;
}

std::string comparison_text(const ComparedReports& compared) {
  const validate::Comparison& comparison = compared.comparison;
  return core::to_text(Json{
      {"schema", "paceline/comparison/1"},
      {"predicted", compared.predicted_name},
      {"measured", compared.measured_names},
      {"has_reference_rates", compared.is_normalised},
      {"step_error", number_or_null(compared.step_error())},
      {"repeat_spread", {{"raw", compared.spread.raw}, {"normalised", compared.spread.normalised}}},
      {"step", json_of(comparison.step)},
      {"phases", json_of(comparison.phases)},
      {"kinds", json_of(comparison.kinds)},
      {"collectives", json_of(comparison.collectives)},
      {"operations", json_of(comparison.operations)},
      {"only_in_one", comparison.only_in_one}});
}

}  // namespace paceline::cli
