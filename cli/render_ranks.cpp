#include "cli/render_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/step_bar.hpp"
#include "cli/table.hpp"

namespace paceline::cli {
namespace {

using core::MemoryCategory;
using core::RankReport;
using core::Report;
using core::TimelinePhase;

constexpr std::size_t most_lines = 12;
constexpr int shortest_bar = 10;

/// Neighbouring ranks whose line is the same.
struct Group {
  const RankReport* rank;
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::string label() const {
    return count == 1 ? fmt::format("rank {}", first)
                      : fmt::format("ranks {}–{}", first, first + count - 1);
  }
};

/// Ranks in order; `alike` says whether two share a line.
template <class Alike>
std::vector<Group> groups_of(const Report& report, const Alike& alike) {
  std::vector<Group> groups;
  std::int64_t next = 0;
  for (const RankReport& rank : report.ranks) {
    if (groups.empty() || !alike(*groups.back().rank, rank)) groups.push_back({&rank, next, 0});
    groups.back().count += rank.represents;
    next += rank.represents;
  }
  return groups;
}

std::string more_lines(std::size_t groups) {
  if (groups <= most_lines) return {};
  return fmt::format("  … and {} more (--json lists all)\n", groups - most_lines);
}

std::string left_aligned(const std::string& text, int width) {
  return text +
         std::string(static_cast<std::size_t>(std::max(0, width - display_width(text))), ' ');
}

double waiting_share(const RankReport& rank, double step_us) {
  return part_of(rank.phases_us, BarPart::waiting) / step_us;
}

std::string phase_name(TimelinePhase phase) {
  std::string name(core::spelling(phase));
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// A phase over all ranks, weighted by whom they stand for.
struct PhaseSummary {
  double mean = 0;
  double least = 0;
  double most = 0;
};

PhaseSummary summary_of(const Report& report, TimelinePhase phase) {
  PhaseSummary summary;
  summary.least = report.ranks.front().phases_us[phase];
  for (const RankReport& rank : report.ranks) {
    const double time_us = rank.phases_us[phase];
    summary.mean += time_us * rank.represents / static_cast<double>(report.world_size);
    summary.least = std::min(summary.least, time_us);
    summary.most = std::max(summary.most, time_us);
  }
  return summary;
}

std::vector<Column> memory_columns() {
  std::vector<Column> columns{
      {.header = "memory at the peak, MiB", .align = Align::left},
      {.header = "device", .align = Align::left, .drop_order = 1, .shortens = true},
      {.header = "total"}};
  for (std::size_t i = 0; i < core::count_of<MemoryCategory>; ++i) {
    std::string name(core::spelling(static_cast<MemoryCategory>(i)));
    std::replace(name.begin(), name.end(), '_', ' ');
    // The last categories are the smallest: they go first.
    columns.push_back({.header = std::move(name),
                       .drop_order = static_cast<int>(core::count_of<MemoryCategory> - i) + 1});
  }
  return columns;
}

std::string not_counted(const Report& report) {
  std::set<std::string> what;
  for (const RankReport& rank : report.ranks) {
    what.insert(rank.not_counted.begin(), rank.not_counted.end());
  }
  std::string text;
  for (const std::string& one : what) text += (text.empty() ? "" : ", ") + one;
  return text;
}

}  // namespace

std::string bars_block(const Report& report, const Console& console) {
  if (!report.step_time_us || !(report.step_time_us->median > 0.0)) return {};
  const double step_us = report.step_time_us->median;
  const auto look = [&](const RankReport& rank) {
    return step_bar(rank.phases_us, console.width, false) + rank.device + " " +
           std::to_string(rank.micro_batch) + percent(waiting_share(rank, step_us), 0);
  };
  const std::vector<Group> groups = groups_of(
      report, [&](const RankReport& a, const RankReport& b) { return look(a) == look(b); });
  int label_width = 0;
  int device_width = 0;
  int images_width = 0;
  const auto images_of = [](const Group& group) {
    return counted(group.rank->micro_batch, "image");
  };
  for (const Group& group : groups) {
    label_width = std::max(label_width, display_width(group.label()));
    device_width = std::max(device_width, std::min(16, display_width(group.rank->device)));
    images_width = std::max(images_width, display_width(images_of(group)));
  }
  constexpr int waits_width = 12;  // "  waits 88 %"
  const int taken = 2 + label_width + 2 + device_width + 2 + images_width + 2 + waits_width;
  const int cells = std::max(shortest_bar, console.width - taken);
  const std::string title = "One step, " + time_text(step_us);
  const std::string legend = bar_legend(console.colour);
  const int blanks = console.width - display_width(title) - display_width(legend);
  std::string block = "\n" + title +
                      (blanks < 2 ? "\n  " : std::string(static_cast<std::size_t>(blanks), ' ')) +
                      legend + "\n";
  for (std::size_t i = 0; i < std::min(most_lines, groups.size()); ++i) {
    const Group& group = groups[i];
    block += "  " + left_aligned(group.label(), label_width) + "  " +
             left_aligned(shortened(group.rank->device, device_width), device_width) + "  " +
             left_aligned(images_of(group), images_width) + "  " +
             step_bar(group.rank->phases_us, cells, console.colour) +
             fmt::format("  waits {:>4}\n", percent(waiting_share(*group.rank, step_us), 0));
  }
  return block + more_lines(groups.size());
}

std::string phases_block(const Report& report, int width) {
  if (!report.step_time_us || !(report.step_time_us->median > 0.0)) return {};
  const double step_us = report.step_time_us->median;
  const TimeUnit unit = time_unit_for(step_us);
  const int decimals = decimals_for(step_us / unit.us);
  const bool alone = report.world_size == 1;
  const std::string name(unit.name);
  Table table({{.header = "phase", .align = Align::left},
               {.header = alone ? name : "mean " + name},
               {.header = "least " + name, .drop_order = 1},
               {.header = "most " + name, .drop_order = 2},
               {.header = "% of step"}});
  const auto cell = [&](double time_us) { return fixed(time_us / unit.us, decimals); };
  for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
    const auto phase = static_cast<TimelinePhase>(i);
    const PhaseSummary summary = summary_of(report, phase);
    if (!(summary.most > 0.0)) continue;
    table.add_row({phase_name(phase), cell(summary.mean), alone ? "" : cell(summary.least),
                   alone ? "" : cell(summary.most), fixed(100.0 * summary.mean / step_us, 1)});
  }
  table.add_row({"step", cell(step_us), "", "", "100.0"});
  return titled("", table.text(width));
}

std::string memory_block(const Report& report, const NodeMemory& node, int width) {
  const std::vector<Group> groups = groups_of(report, [](const RankReport& a, const RankReport& b) {
    return a.device == b.device && a.peak_memory == b.peak_memory &&
           a.peak_memory_total == b.peak_memory_total;
  });
  Table table(memory_columns());
  for (std::size_t i = 0; i < std::min(most_lines, groups.size()); ++i) {
    const RankReport& rank = *groups[i].rank;
    std::vector<std::string> cells{groups[i].label(), rank.device,
                                   significant(in_mib(rank.peak_memory_total))};
    for (std::size_t c = 0; c < core::count_of<MemoryCategory>; ++c) {
      const core::Bytes bytes = rank.peak_memory[static_cast<MemoryCategory>(c)];
      cells.push_back(bytes.value() == 0 ? "" : significant(in_mib(bytes)));
    }
    table.add_row(std::move(cells));
  }
  std::string block = titled("", table.text(width)) + more_lines(groups.size());
  std::string note;
  if (node.ranks > 0 && node.available_gib > 0.0) {
    note = fmt::format("Node {}: {} of {} GiB for {}.", node.node, bytes_text(node.used),
                       significant(node.available_gib), counted(node.ranks, "rank"));
  }
  if (const std::string missing = not_counted(report); !missing.empty()) {
    note += fmt::format("{}Not counted: {}.", note.empty() ? "" : " ", missing);
  }
  if (!note.empty()) block += "  " + wrapped(note, width, 2, 2) + "\n";
  return block;
}

}  // namespace paceline::cli
