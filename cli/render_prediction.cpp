#include "cli/render_prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/render_alternatives.hpp"
#include "cli/render_ranks.hpp"
#include "cli/table.hpp"

namespace paceline::cli {
namespace {

using core::Report;

std::string paragraph(const std::string& text, int width) { return wrapped(text, width) + "\n"; }

/// "2 ranks × 16 images = 32 images a step"; "16 + 8 images" where ranks differ.
std::string batch_text(const Report& report) {
  std::set<std::int64_t> batches;
  std::string sum;
  for (const core::RankReport& rank : report.ranks) {
    batches.insert(rank.micro_batch);
    sum += (sum.empty() ? "" : " + ") + std::to_string(rank.micro_batch);
  }
  constexpr std::size_t most_terms = 6;
  std::string images = std::to_string(*batches.begin());
  if (batches.size() > 1) {
    const bool lists_all = report.ranks.size() == static_cast<std::size_t>(report.world_size) &&
                           report.ranks.size() <= most_terms;
    images = lists_all ? sum : images + " to " + std::to_string(*batches.rbegin());
  }
  std::string text = fmt::format("{} × {} images", counted(report.world_size, "rank"), images);
  if (batches.size() > 1) {
    text = fmt::format("{} with {} images", counted(report.world_size, "rank"), images);
  }
  if (report.accumulation_steps > 1) {
    text += fmt::format(" × {} micro-steps", report.accumulation_steps);
  }
  return text + fmt::format(" = {} images a step", report.global_batch);
}

std::string step_sentence(const Report& report) {
  if (!report.fits || !report.step_time_us) return "Does not fit.";
  std::string text = "Step " + time_text(report.step_time_us->median);
  if (const auto& interval = report.step_time_us->interval_90) {
    text += fmt::format(" (90 % interval {} to {})", time_text(interval->at(0)),
                        time_text(interval->at(1)));
  }
  if (report.images_per_s) text += ", " + significant(*report.images_per_s) + " images/s";
  if (report.epoch_time_s) text += ", one epoch " + time_text(*report.epoch_time_s * 1e6);
  return text + ".";
}

std::string verdict(const Report& report, const std::string& cluster, int width) {
  std::string text = paragraph(
      fmt::format("{} on {}: {}, {}.", report.model, cluster, batch_text(report), report.framework),
      width);
  text += paragraph(step_sentence(report), width);
  if (report.bottleneck) text += paragraph(report.bottleneck->sentence, width);
  return text;
}

std::string efficiency_text(const Report& report) {
  std::vector<std::string> parts;
  if (report.model_flop_rate_gflop_per_s) {
    std::string rates =
        significant(*report.model_flop_rate_gflop_per_s) + " GFLOP/s of the model's products";
    for (const auto& [denominator, share] : report.mfu) {
      std::string name = denominator;
      std::replace(name.begin(), name.end(), '_', ' ');
      rates += fmt::format(", {} of the {}", percent(share), name);
    }
    parts.push_back(std::move(rates));
  }
  if (report.gradient_bytes_on_wire && report.gradient_bytes_on_wire->value() > 0) {
    parts.push_back(
        fmt::format("gradients: {} a step in {}, {} the backward pass",
                    bytes_text(*report.gradient_bytes_on_wire),
                    counted(static_cast<std::int64_t>(report.collectives.size()), "collective"),
                    report.overlap ? "beside" : "after"));
  }
  if (report.first_step_us) parts.push_back("first step " + time_text(*report.first_step_us));
  if (parts.empty()) return {};
  std::string text = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) text.append("; ").append(parts[i]);
  return text + ".";
}

std::string collectives_table(const Report& report, int width) {
  if (report.collectives.empty()) return {};
  double largest = 0.0;
  for (const auto& one : report.collectives) largest = std::max(largest, one.time_us);
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  Table table({{.header = "collective", .align = Align::left, .shortens = true},
               {.header = "ranks", .drop_order = 2},
               {.header = "MiB"},
               {.header = "algorithm", .align = Align::left, .drop_order = 1},
               {.header = std::string(unit.name)},
               {.header = "algbw GB/s", .drop_order = 3},
               {.header = "busbw GB/s"}});
  constexpr std::size_t most_rows = 8;
  for (const auto& one : report.collectives) {
    table.add_row({one.id, std::to_string(one.ranks), significant(in_mib(one.bytes)),
                   one.algorithm + " " + one.protocol, fixed(one.time_us / unit.us, decimals),
                   significant(one.algbw_gb_per_s), significant(one.busbw_gb_per_s)});
    if (report.collectives.size() > most_rows && &one == &report.collectives[most_rows - 2]) break;
  }
  std::string text =
      titled("Collectives, from the last rank's arrival to the end", table.text(width));
  if (report.collectives.size() > most_rows) {
    text += fmt::format("  … and {} more (--json lists all)\n",
                        report.collectives.size() - (most_rows - 1));
  }
  return text;
}

/// Times of rank 0's operations, added up by kind.
struct KindTotal {
  std::int64_t operations = 0;
  double time_us = 0;
  double flops = 0;
  double bytes = 0;
};

std::string rate(double amount, double time_us) {
  return amount > 0.0 && time_us > 0.0 ? significant(amount / time_us * 1e-3) : "";
}

std::string kinds_table(const Report& report, double step_us, int width) {
  std::map<std::string, KindTotal> totals;
  for (const auto& operation : report.operations) {
    KindTotal& total = totals[operation.kind];
    ++total.operations;
    total.time_us += operation.time_us.median;
    total.flops += static_cast<double>(operation.flops.value());
    total.bytes += static_cast<double>(operation.bytes.value());
  }
  std::vector<std::pair<std::string, KindTotal>> sorted(totals.begin(), totals.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.time_us > b.second.time_us;
  });
  const double largest = sorted.empty() ? 0.0 : sorted.front().second.time_us;
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  Table table({{.header = "operations of a kind", .align = Align::left},
               {.header = "count", .drop_order = 1},
               {.header = std::string(unit.name)},
               {.header = "% of step"},
               {.header = "GFLOP/s"},
               {.header = "GB/s", .drop_order = 2}});
  constexpr std::size_t most_rows = 10;
  for (std::size_t i = 0; i < std::min(most_rows, sorted.size()); ++i) {
    const auto& [kind, total] = sorted[i];
    table.add_row({kind, std::to_string(total.operations), fixed(total.time_us / unit.us, decimals),
                   fixed(100.0 * total.time_us / step_us, 1), rate(total.flops, total.time_us),
                   rate(total.bytes, total.time_us)});
  }
  return table.text(width);
}

std::string longest_table(const Report& report, double step_us, int width) {
  std::vector<const core::OperationReport*> sorted;
  sorted.reserve(report.operations.size());
  for (const auto& operation : report.operations) sorted.push_back(&operation);
  constexpr std::size_t most_rows = 6;
  const std::size_t rows = std::min(most_rows, sorted.size());
  std::partial_sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(rows),
                    sorted.end(), [](const auto* a, const auto* b) {
                      return a->time_us.median != b->time_us.median
                                 ? a->time_us.median > b->time_us.median
                                 : a->id < b->id;
                    });
  const double largest = sorted.front()->time_us.median;
  const TimeUnit unit = time_unit_for(largest);
  const int decimals = decimals_for(largest / unit.us);
  Table table({{.header = "longest operations", .align = Align::left, .shortens = true},
               {.header = std::string(unit.name)},
               {.header = "% of step"},
               {.header = "GFLOP/s"},
               {.header = "GB/s", .drop_order = 1}});
  for (std::size_t i = 0; i < rows; ++i) {
    const core::OperationReport& one = *sorted[i];
    const double time_us = one.time_us.median;
    table.add_row({one.id, fixed(time_us / unit.us, decimals), fixed(100.0 * time_us / step_us, 1),
                   rate(static_cast<double>(one.flops.value()), time_us),
                   rate(static_cast<double>(one.bytes.value()), time_us)});
  }
  return table.text(width);
}

std::string operations_block(const Report& report, int width) {
  if (report.operations.empty() || !report.step_time_us) return {};
  const double step_us = report.step_time_us->median;
  return titled("Where the time goes on rank 0", kinds_table(report, step_us, width)) +
         titled("", longest_table(report, step_us, width));
}

std::string assumptions_block(const Report& report, int width) {
  if (report.assumptions.empty()) return {};
  Table table({{.header = "you did not say", .align = Align::left, .shortens = true},
               {.header = "so we took", .align = Align::left, .shortens = true},
               {.header = "from", .align = Align::left, .drop_order = 1, .shortens = true},
               {.header = "step if wrong", .align = Align::left}});
  for (const core::Assumption& one : report.assumptions) {
    const bool moves = one.step_time_us_high > 0.0;
    table.add_row({one.key, one.value, one.origin,
                   moves ? fmt::format("{} to {}", time_text(one.step_time_us_low),
                                       time_text(one.step_time_us_high))
                         : "–"});
  }
  return titled("", table.text(width));
}

std::string trust_paragraph(const Report& report, int width) {
  std::string text =
      "Trust: no set of measured runs is named for this prediction. Run it for real (paceline run) "
      "and compare (paceline compare).";
  if (report.track_record && report.track_record->runs > 0) {
    const core::TrackRecord& record = *report.track_record;
    text = fmt::format(
        "Trust: {} of this kind ({}) were checked: off by {} in the median, {} at worst.",
        counted(record.runs, "run"), record.set, percent(record.median_error),
        percent(record.worst_error));
  }
  const bool on_gpus = !report.ranks.empty() && report.ranks.front().memory_capacity.has_value();
  if (on_gpus) {
    text =
        "Trust: datasheets and generic efficiencies only, nothing was measured on these cards: "
        "expect "
        "±25 %, small batches and slow hosts more. Loading and decoding images is not counted.";
  }
  return titled("", paragraph(text, width));
}

}  // namespace

NodeMemory fullest_node(const Report& report, const hardware_profiles::Cluster& cluster) {
  std::map<int, NodeMemory> nodes;
  std::size_t slot = 0;
  for (const core::RankReport& rank : report.ranks) {
    for (int i = 0; i < rank.represents; ++i, ++slot) {
      if (slot >= cluster.slots.size() || cluster.slots[slot].device.empty()) continue;
      const int index = cluster.slots[slot].node;
      NodeMemory& node = nodes[index];
      node.node = index;
      ++node.ranks;
      node.used += rank.peak_memory_total;
      node.available_gib = cluster.cpu_devices.at(cluster.slots[slot].device).memory_gib;
    }
  }
  NodeMemory fullest;
  for (const auto& [index, node] : nodes) {
    const auto filled = [](const NodeMemory& one) {
      return one.available_gib > 0.0 ? in_gib(one.used) / one.available_gib : 0.0;
    };
    if (fullest.ranks == 0 || filled(node) > filled(fullest)) fullest = node;
  }
  return fullest;
}

std::string prediction_screen(const Report& report, const std::string& cluster,
                              const NodeMemory& node, Detail detail, const Console& console,
                              const std::vector<sim::Alternative>& alternatives) {
  const std::string mixed = mixed_verdict(report, alternatives, console.width);
  std::string screen =
      mixed + (mixed.empty() ? "" : "\n") + verdict(report, cluster, console.width);
  if (detail == Detail::quiet) return screen;
  screen += bars_block(report, console);
  const std::string on_gpus = gpu_memory_block(report, console.width);
  // GPU jobs: what to do and whether it fits first; all tables only if asked for.
  const bool tables = on_gpus.empty() || detail == Detail::all;
  const std::string rates = efficiency_text(report);
  if (!on_gpus.empty() && !rates.empty()) {
    screen += "  " + wrapped(rates, console.width, 2, 2) + "\n";
  }
  screen += alternatives_block(report, alternatives, console.width);
  if (detail == Detail::brief) return screen;
  if (tables) screen += phases_block(report, console.width);
  if (on_gpus.empty() && !rates.empty()) {
    screen += titled("", paragraph(rates, console.width));
  }
  screen += on_gpus.empty() ? memory_block(report, node, console.width) : on_gpus;
  if (tables) {
    screen += collectives_table(report, console.width);
    screen += operations_block(report, console.width);
  }
  screen += assumptions_block(report, console.width);
  screen += trust_paragraph(report, console.width);
  return screen;
}

}  // namespace paceline::cli
