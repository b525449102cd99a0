#include "cli/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/quantity_text.hpp"
#include "core/error.hpp"
#include "core/json.hpp"

namespace paceline::cli {
namespace {

using core::Json;
using core::Report;

constexpr auto style = R"css(
:root { color-scheme: light; }
body { font: 15px/1.45 system-ui, sans-serif; color: #1c2024; background: #fff;
       max-width: 1080px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 24px; margin: 0 0 4px; }
h2 { font-size: 17px; margin: 32px 0 4px; }
p { margin: 4px 0; color: #4a5057; }
p.verdict { color: #1c2024; font-size: 16px; margin: 8px 0; }
table { border-collapse: collapse; margin: 12px 0; }
th, td { text-align: left; padding: 4px 18px 4px 0; border-bottom: 1px solid #e3e6e9;
         vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
th { font-weight: 600; }
code { font: 13px ui-monospace, monospace; }
.chart { width: 100%; }
details { margin-top: 28px; }
summary { cursor: pointer; font-weight: 600; }
)css";

constexpr auto script = R"js(
const charts = JSON.parse(document.getElementById('charts').textContent);
for (const chart of charts) {
  Plotly.newPlot(chart.id, chart.traces, chart.layout, {displayModeBar: false, responsive: true});
}
)js";

/// Colours that people with any colour vision tell apart (Okabe and Ito 2008), and two greys.
constexpr std::array colours{"#0072b2", "#56b4e9", "#009e73", "#d55e00", "#e69f00",
                             "#cc79a7", "#999999", "#f0e442", "#5d6770", "#c3c9ce"};

std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else if (c == '>') {
      html += "&gt;";
    } else if (c == '"') {
      html += "&quot;";
    } else {
      html += c;
    }
  }
  return html;
}

/// JSON that may stand inside a script element: `<` never starts a tag in it.
std::string script_json(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) {
    text.replace(at, 1, "\\u003c");
  }
  return text;
}

/// The script without a text that would end its element, or hide its end.
std::string inside_script_element(std::string text) {
  for (const std::string_view mark : {"</script", "<!--"}) {
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += mark.size()) {
      text.insert(at + 1, 1, '\\');
    }
  }
  return text;
}

/// "predicted", "measured 1", "measured 2", …: numbered where a kind stands there twice.
std::vector<std::string> names_of(std::span<const Report> reports) {
  std::map<core::ReportKind, int> total;
  for (const Report& report : reports) ++total[report.kind];
  std::map<core::ReportKind, int> seen;
  std::vector<std::string> names;
  for (const Report& report : reports) {
    std::string name(core::spelling(report.kind));
    const int number = ++seen[report.kind];
    if (total[report.kind] > 1) name += " " + std::to_string(number);
    names.push_back(std::move(name));
  }
  return names;
}

/// A bar of a chart: one rank of one report.
struct Bar {
  std::string label;
  const core::RankReport* rank = nullptr;
};

/// Rank by rank, and of each rank the reports in order.
std::vector<Bar> bars_of(std::span<const Report> reports, const std::vector<std::string>& names) {
  std::size_t most = 0;
  for (const Report& report : reports) most = std::max(most, report.ranks.size());
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < std::min(most, most_charted_ranks); ++i) {
    for (std::size_t r = 0; r < reports.size(); ++r) {
      if (i >= reports[r].ranks.size()) continue;
      const core::RankReport& rank = reports[r].ranks[i];
      std::string label = fmt::format("rank {} · {}", rank.rank, rank.device);
      if (rank.represents > 1) label += fmt::format(" × {}", rank.represents);
      if (reports.size() > 1) label += " · " + names[r];
      bars.push_back({std::move(label), &rank});
    }
  }
  return bars;
}

Json layout_of(const std::string& axis, std::size_t bars) {
  constexpr int around = 130;
  constexpr int each = 34;
  return {{"barmode", "stack"},
          {"height", around + each * static_cast<int>(bars)},
          {"margin", {{"l", 10}, {"r", 10}, {"t", 10}, {"b", 40}}},
          {"font", {{"family", "system-ui, sans-serif"}, {"size", 13}, {"color", "#1c2024"}}},
          {"xaxis",
           {{"title", {{"text", axis}}},
            {"rangemode", "tozero"},
            {"exponentformat", "none"},
            {"gridcolor", "#e3e6e9"}}},
          {"yaxis", {{"autorange", "reversed"}, {"automargin", true}, {"type", "category"}}},
          {"legend",
           {{"orientation", "h"}, {"y", 1.0}, {"yanchor", "bottom"}, {"traceorder", "normal"}}},
          {"bargap", 0.25}};
}

/// A stack of words: for each enumerator that is anywhere more than nothing, its value in each bar.
template <class Enum, class Value>
Json stack_of(const std::vector<Bar>& bars, const std::string& unit, const Value& value) {
  Json traces = Json::array();
  for (std::size_t i = 0; i < core::count_of<Enum>; ++i) {
    const auto key = static_cast<Enum>(i);
    Json x = Json::array();
    Json y = Json::array();
    bool is_anywhere = false;
    for (const Bar& bar : bars) {
      const double amount = value(*bar.rank, key);
      is_anywhere = is_anywhere || amount > 0;
      x.push_back(amount);
      y.push_back(bar.label);
    }
    if (!is_anywhere) continue;
    std::string name(core::spelling(key));
    std::replace(name.begin(), name.end(), '_', ' ');
    traces.push_back(
        {{"type", "bar"},
         {"orientation", "h"},
         {"name", name},
         {"x", x},
         {"y", y},
         {"marker", {{"color", colours.at(i % colours.size())}}},
         {"hovertemplate", "%{y}<br>" + name + " %{x:.4g} " + unit + "<extra></extra>"}});
  }
  return traces;
}

Json phase_chart(const std::vector<Bar>& bars) {
  constexpr double us_per_ms = 1e3;
  return {{"id", "phases"},
          {"traces", stack_of<core::TimelinePhase>(
                         bars, "ms",
                         [](const core::RankReport& rank, core::TimelinePhase phase) {
                           return rank.phases_us[phase] / us_per_ms;
                         })},
          {"layout", layout_of("milliseconds of one step", bars.size())}};
}

Json memory_chart(const std::vector<Bar>& bars) {
  constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;
  return {{"id", "memory"},
          {"traces", stack_of<core::MemoryCategory>(
                         bars, "GiB",
                         [](const core::RankReport& rank, core::MemoryCategory category) {
                           return static_cast<double>(rank.peak_memory[category].value()) /
                                  bytes_per_gib;
                         })},
          {"layout", layout_of("GiB at the peak, 2^30 bytes", bars.size())}};
}

/// Time of one step of rank 0 by kind of operation, the longest kinds first.
Json kinds_chart(std::span<const Report> reports, const std::vector<std::string>& names) {
  constexpr std::size_t most_kinds = 16;
  std::map<std::string, double> longest;
  std::vector<std::map<std::string, double>> sums(reports.size());
  for (std::size_t r = 0; r < reports.size(); ++r) {
    for (const core::OperationReport& operation : reports[r].operations) {
      sums[r][operation.kind] += operation.time_us.median / 1e3;
    }
    for (const auto& [kind, time] : sums[r]) longest[kind] = std::max(longest[kind], time);
  }
  std::vector<std::string> kinds;
  for (const auto& [kind, time] : longest) kinds.push_back(kind);
  std::stable_sort(kinds.begin(), kinds.end(), [&](const std::string& a, const std::string& b) {
    return longest[a] > longest[b];
  });
  if (kinds.size() > most_kinds) kinds.resize(most_kinds);
  Json traces = Json::array();
  for (std::size_t r = 0; r < reports.size(); ++r) {
    if (sums[r].empty()) continue;
    Json x = Json::array();
    for (const std::string& kind : kinds) {
      const auto found = sums[r].find(kind);
      x.push_back(found == sums[r].end() ? 0.0 : found->second);
    }
    traces.push_back({{"type", "bar"},
                      {"orientation", "h"},
                      {"name", names[r]},
                      {"x", x},
                      {"y", kinds},
                      {"marker", {{"color", colours.at(r % colours.size())}}},
                      {"hovertemplate", "%{y}<br>%{x:.4g} ms<extra>" + names[r] + "</extra>"}});
  }
  Json layout = layout_of("milliseconds of one step, rank 0",
                          kinds.size() * std::max<std::size_t>(traces.size(), 1) / 2 + 1);
  layout["barmode"] = "group";
  return {{"id", "kinds"}, {"traces", traces}, {"layout", layout}};
}

std::string milliseconds(double us) { return significant(us / 1e3) + " ms"; }

std::string spread_text(const core::StepTime& step) {
  return milliseconds(step.p10) + " – " + milliseconds(step.p90);
}

std::string interval_text(const std::optional<std::vector<double>>& interval) {
  if (!interval || interval->size() != 2) return "";
  return milliseconds((*interval)[0]) + " – " + milliseconds((*interval)[1]);
}

/// A row of the table: a word, and what each report says; left out if none says anything.
template <class Cell>
std::string row(const std::string& word, std::span<const Report> reports, const Cell& cell) {
  std::string html = "<tr><th>" + escaped(word) + "</th>";
  bool is_empty = true;
  for (const Report& report : reports) {
    const std::string text = cell(report);
    is_empty = is_empty && text.empty();
    html += "<td class=\"n\">" + escaped(text) + "</td>";
  }
  return is_empty ? std::string() : html + "</tr>\n";
}

std::string summary_table(std::span<const Report> reports, const std::vector<std::string>& names) {
  std::string html = "<table id=\"summary\">\n<tr><th></th>";
  for (const std::string& name : names) html += "<th class=\"n\">" + escaped(name) + "</th>";
  html += "</tr>\n";
  html += row("model", reports, [](const Report& r) { return r.model; });
  html += row("framework", reports, [](const Report& r) { return r.framework; });
  html += row("ranks", reports, [](const Report& r) { return std::to_string(r.world_size); });
  html += row("global batch", reports, [](const Report& r) {
    return std::to_string(r.global_batch) +
           (r.accumulation_steps > 1
                ? " in " + std::to_string(r.accumulation_steps) + " micro-steps"
                : "");
  });
  html += row("fits", reports, [](const Report& r) { return r.fits ? "yes" : "no"; });
  html += row("step, median", reports, [](const Report& r) {
    return r.step_time_us ? milliseconds(r.step_time_us->median) : "";
  });
  html += row("step to step, p10 – p90", reports,
              [](const Report& r) { return r.step_time_us ? spread_text(*r.step_time_us) : ""; });
  html += row("50 % interval", reports, [](const Report& r) {
    return r.step_time_us ? interval_text(r.step_time_us->interval_50) : "";
  });
  html += row("90 % interval", reports, [](const Report& r) {
    return r.step_time_us ? interval_text(r.step_time_us->interval_90) : "";
  });
  html += row("images/s", reports,
              [](const Report& r) { return r.images_per_s ? significant(*r.images_per_s) : ""; });
  html += row("epoch", reports, [](const Report& r) {
    return r.epoch_time_s ? significant(*r.epoch_time_s) + " s" : "";
  });
  std::set<std::string> denominators;
  for (const Report& report : reports) {
    for (const auto& [name, value] : report.mfu) denominators.insert(name);
  }
  for (const std::string& name : denominators) {
    html += row("MFU of " + name, reports, [&](const Report& r) {
      const auto found = r.mfu.find(name);
      return found == r.mfu.end() ? "" : fmt::format("{:.1f} %", 100 * found->second);
    });
  }
  // The first prediction and the median of the first measurement: what the page is for.
  html += row("error of the prediction", reports, [&](const Report& r) -> std::string {
    const Report& first = reports.front();
    if (&r == &first || first.kind != core::ReportKind::predicted ||
        r.kind != core::ReportKind::measured || !first.step_time_us || !r.step_time_us ||
        r.step_time_us->median <= 0) {
      return "";
    }
    return fmt::format("{:+.1f} %",
                       100 * (first.step_time_us->median / r.step_time_us->median - 1));
  });
  return html + "</table>\n";
}

std::string collectives_table(std::span<const Report> reports,
                              const std::vector<std::string>& names) {
  constexpr std::size_t most_rows = 40;
  std::string html;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const auto& collectives = reports[r].collectives;
    if (collectives.empty()) continue;
    html += "<h2>Collectives, " + escaped(names[r]) +
            "</h2>\n<table>\n<tr><th>collective</th><th>algorithm, protocol</th>"
            "<th class=\"n\">ranks</th><th class=\"n\">MiB</th><th class=\"n\">ms</th>"
            "<th class=\"n\">algbw GB/s</th><th class=\"n\">busbw GB/s</th></tr>\n";
    for (std::size_t i = 0; i < std::min(collectives.size(), most_rows); ++i) {
      const core::CollectiveReport& c = collectives[i];
      html += fmt::format(
          "<tr><td>{}</td><td>{}, {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
          "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
          escaped(c.id), escaped(c.algorithm), escaped(c.protocol), c.ranks,
          significant(static_cast<double>(c.bytes.value()) / (1024.0 * 1024.0)),
          significant(c.time_us / 1e3), significant(c.algbw_gb_per_s),
          significant(c.busbw_gb_per_s));
    }
    html += "</table>\n";
    if (collectives.size() > most_rows) {
      html += fmt::format("<p>{} of {} are shown.</p>\n", most_rows, collectives.size());
    }
  }
  return html;
}

std::string assumptions_table(std::span<const Report> reports) {
  std::string html;
  std::set<std::string> told;
  for (const Report& report : reports) {
    for (const core::Assumption& assumption : report.assumptions) {
      if (!told.insert(assumption.key + "=" + assumption.value).second) continue;
      html += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{} – {}</td></tr>\n",
          escaped(assumption.key), escaped(assumption.value), escaped(assumption.origin),
          milliseconds(assumption.step_time_us_low), milliseconds(assumption.step_time_us_high));
    }
  }
  if (html.empty()) return {};
  return "<h2>Taken, because nobody gave it</h2>\n<table>\n<tr><th>value</th><th>taken</th>"
         "<th>origin</th><th class=\"n\">step at either end</th></tr>\n" +
         html + "</table>\n";
}

std::string inputs_table(std::span<const Report> reports, const std::vector<std::string>& names) {
  std::string html = "<h2>Inputs</h2>\n<table id=\"inputs\">\n";
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const core::Identity& identity = reports[r].identity;
    html += fmt::format(
        "<tr><th>{}</th><td>Paceline {}; experiment <code>{}</code>; profile <code>{}</code>; "
        "Program <code>{}</code>",
        escaped(names[r]), escaped(identity.version), escaped(identity.experiment_hash),
        escaped(identity.profile_hash.empty() ? "none" : identity.profile_hash),
        escaped(identity.program_hashes.empty() ? "none" : identity.program_hashes.front()));
    for (const auto& [key, value] : reports[r].provenance) {
      html += "<br>" + escaped(key) + ": " + escaped(value);
    }
    html += "</td></tr>\n";
  }
  return html + "</table>\n";
}

std::string title_of(const Report& report) {
  return fmt::format("{}, {} rank{}, {}", report.model, report.world_size,
                     report.world_size == 1 ? "" : "s", report.framework);
}

}  // namespace

std::string html_report(std::span<const Report> reports, const Plotly& plotly) {
  if (reports.empty()) throw core::UsageError("an HTML report needs a report (give one or more)");
  const std::vector<std::string> names = names_of(reports);
  const std::vector<Bar> bars = bars_of(reports, names);
  std::size_t most = 0;
  bool has_times = false;
  bool has_operations = false;
  for (const Report& report : reports) {
    most = std::max(most, report.ranks.size());
    has_times = has_times || report.step_time_us.has_value();
    has_operations = has_operations || !report.operations.empty();
  }
  Json charts = Json::array();
  if (has_times) charts.push_back(phase_chart(bars));
  charts.push_back(memory_chart(bars));
  if (has_operations) charts.push_back(kinds_chart(reports, names));

  const std::string title = escaped(title_of(reports.front()));
  std::string html = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += "<title>Paceline: " + title + "</title>\n<style>" + style + "</style>\n";
  html += "<script>" + inside_script_element(plotly.script) + "</script>\n</head>\n<body>\n";
  html += "<h1>" + title + "</h1>\n";
  for (const Report& report : reports) {
    if (!report.bottleneck) continue;
    html += "<p class=\"verdict\">" + escaped(report.bottleneck->sentence) + "</p>\n";
    break;
  }
  html += summary_table(reports, names);
  if (most > most_charted_ranks) {
    html += fmt::format("<p>The first {} of {} ranks are drawn.</p>\n", most_charted_ranks, most);
  }
  if (has_times) {
    html += "<h2>One step, rank by rank</h2>\n<div class=\"chart\" id=\"phases\"></div>\n";
  }
  html += "<h2>Memory at the peak</h2>\n<div class=\"chart\" id=\"memory\"></div>\n";
  if (has_operations) {
    html += "<h2>By kind of operation</h2>\n<div class=\"chart\" id=\"kinds\"></div>\n";
  }
  html += collectives_table(reports, names);
  html += assumptions_table(reports);
  html += inputs_table(reports, names);
  html += "<p>Charts: plotly.js " + escaped(plotly.version) + ".</p>\n";
  html += "<details><summary>Licence of plotly.js</summary><pre>" + escaped(plotly.licence) +
          "</pre></details>\n";
  html += "<script type=\"application/json\" id=\"charts\">" + script_json(charts) + "</script>\n";
  return html + "<script>" + script + "</script>\n</body>\n</html>\n";
}

std::string html_report(std::span<const Report> reports) {
  return html_report(reports, find_plotly());
}

}  // namespace paceline::cli
