#include "cli/render_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
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

/// What the two sides are called.
struct Words {
  std::string predicted = "predicted";
  std::string measured = "measured";
};

Words words_of(const ComparedReports& compared) {
  if (compared.sides == ComparedReports::Sides::prediction_and_measurement) return {};
  return {.predicted = "this", .measured = "first"};
}

/// Predicted, measured and error; with the normalised pair where there are reference rates.
std::string difference_table(const std::string& what, const std::vector<Difference>& list,
                             const ComparedReports& compared, int width) {
  const bool is_normalised = compared.is_normalised;
  const Words words = words_of(compared);
  const double largest = largest_time(list);
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  const std::string name(unit.name);
  Table table({{.header = what, .align = Align::left, .shortens = true},
               {.header = fmt::format("{} {}", words.predicted, name)},
               {.header = fmt::format("{} {}", words.measured, name), .drop_order = 3},
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
  if (!compared.is_same_experiment) text += " They are of different experiments.";
  std::string lines = wrapped(text, width) + "\n";
  if (compared.is_normalised && predicted.reference_rate) {
    const Difference& step = compared.comparison.step;
    const double rate = predicted.reference_rate->gflop_per_s;
    const char* const whose =
        compared.sides == ComparedReports::Sides::alike ? "first-named report's" : "prediction's";
    lines +=
        wrapped(fmt::format("Normalised (norm.): as if the host had run its reference product at "
                            "the {} {} GFLOP/s; it ran at {}.",
                            whose, significant(rate),
                            significant(rate * step.normalised_us / step.measured_us)),
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

std::string waterfall_block(const ComparedReports& compared, int width) {
  const std::vector<Difference>& rows = compared.comparison.classes;
  const double largest = largest_time(rows);
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  const Words words = words_of(compared);
  const std::string name(unit.name);
  double widest = 0.0;
  for (const Difference& one : rows) widest = std::max(widest, std::abs(difference_us(one)));
  Table table({{.header = "class of operation", .align = Align::left, .shortens = true},
               {.header = fmt::format("{} {}", words.predicted, name), .drop_order = 2},
               {.header = fmt::format("{} {}",
                                      compared.is_normalised ? "normalised" : words.measured, name),
                .drop_order = 3},
               {.header = "off by " + name},
               {.header = "% of step"},
               {.header = "▒ short █ long", .align = Align::left, .drop_order = 1}});
  const double step_us = compared.comparison.step.normalised_us;
  const auto add_row = [&](const Difference& one, const std::string& bar) {
    const double difference = difference_us(one);
    table.add_row({one.what, fixed(one.predicted_us / unit.us, decimals),
                   fixed(one.normalised_us / unit.us, decimals),
                   signed_fixed(difference / unit.us, decimals),
                   step_us > 0.0 ? signed_percent(difference / step_us) : std::string(), bar});
  };
  for (const Difference& one : rows) {
    const bool is_empty = one.predicted_us == 0.0 && one.measured_us == 0.0;
    if (!is_empty) add_row(one, waterfall_bar(difference_us(one), widest));
  }
  add_row(compared.comparison.step, "");
  return titled("Where the difference comes from (rank 0)", table.text(width));
}

std::string worst_operations(const ComparedReports& compared, int width) {
  constexpr std::size_t most_rows = 8;
  std::vector<Difference> rows = compared.comparison.operations;
  sort_by_difference(rows);
  rows.resize(std::min(rows.size(), most_rows));
  if (rows.empty()) return {};
  return titled("", difference_table("operations furthest off", rows, compared, width));
}

std::string collectives_block(const ComparedReports& compared, int width) {
  constexpr std::size_t most_rows = 8;
  std::vector<Difference> rows = compared.comparison.collectives;
  if (rows.empty()) return {};
  if (rows.size() > most_rows) {
    sort_by_difference(rows);
    rows.resize(most_rows);
  }
  return titled("", difference_table("collectives", rows, compared, width));
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

Json json_of(const ComparedReports& compared) {
  const validate::Comparison& comparison = compared.comparison;
  return Json{
      {"predicted", compared.predicted_name},
      {"measured", compared.measured_names},
      {"is_same_kind", compared.sides == ComparedReports::Sides::alike},
      {"is_same_experiment", compared.is_same_experiment},
      {"has_reference_rates", compared.is_normalised},
      {"step_error", number_or_null(compared.step_error())},
      {"repeat_spread", {{"raw", compared.spread.raw}, {"normalised", compared.spread.normalised}}},
      {"step", json_of(comparison.step)},
      {"phases", json_of(comparison.phases)},
      {"classes", json_of(comparison.classes)},
      {"kinds", json_of(comparison.kinds)},
      {"collectives", json_of(comparison.collectives)},
      {"operations", json_of(comparison.operations)},
      {"only_in_one", comparison.only_in_one}};
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
  screen += titled("", difference_table("mean over ranks", phases, compared, width));
  if (!compared.comparison.operations.empty()) screen += waterfall_block(compared, width);
  screen += collectives_block(compared, width);
  screen += worst_operations(compared, width);
  screen += only_in_one_block(compared.comparison.only_in_one);
  return screen;
}

std::string comparisons_screen(const std::vector<ComparedReports>& all, int width) {
  if (all.size() == 1) return comparison_screen(all.front(), width);
  double largest = 0.0;
  bool is_normalised = true;
  for (const ComparedReports& one : all) {
    largest = std::max(largest, largest_time({one.comparison.step}));
    is_normalised = is_normalised && one.is_normalised;
  }
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  const std::string name(unit.name);
  Table table(
      {{.header = "report", .align = Align::left, .shortens = true},
       {.header = "step " + name},
       {.header = fmt::format("{} {}", words_of(all.front()).measured, name), .drop_order = 1},
       {.header = "error"},
       {.header = "norm. error"}});
  for (const ComparedReports& one : all) {
    const Difference& step = one.comparison.step;
    table.add_row({one.predicted_name, fixed(step.predicted_us / unit.us, decimals),
                   fixed(step.measured_us / unit.us, decimals), signed_percent(step.raw_error()),
                   is_normalised ? signed_percent(step.normalised_error()) : ""});
  }
  std::string screen = table.text(width);
  for (const ComparedReports& one : all) {
    screen += '\n';
    screen += comparison_screen(one, width);
  }
  return screen;
}

std::string comparison_text(const std::vector<ComparedReports>& all) {
  if (all.empty()) throw core::InvariantError("a comparison of nothing");
  Json json{{"schema", "paceline/comparison/1"}};
  json.update(json_of(all.front()));
  json["further"] = Json::array();
  for (std::size_t i = 1; i < all.size(); ++i) json["further"].push_back(json_of(all[i]));
  return core::to_text(json);
}

}  // namespace paceline::cli
