#include "cli/render_alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"

namespace paceline::cli {
namespace {

using core::Report;
using sim::Alternative;
using Kind = Alternative::Kind;

const Alternative* row_of(const std::vector<Alternative>& rows, Kind kind) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Alternative& row) {
    return row.kind == kind && row.fits && row.images_per_s > 0;
  });
  return found == rows.end() ? nullptr : &*found;
}

/// The row that trains one job fastest; an uneven split must be worth its trouble.
const Alternative* best_of(const std::vector<Alternative>& rows) {
  const Alternative* best = row_of(rows, Kind::now);
  const Alternative* alone = row_of(rows, Kind::one_kind_alone);
  const Alternative* split = row_of(rows, Kind::uneven_split);
  constexpr double worth = 1.10;
  if (alone != nullptr && (best == nullptr || alone->images_per_s > best->images_per_s)) {
    best = alone;
  }
  if (split != nullptr && (best == nullptr || split->images_per_s > worth * best->images_per_s)) {
    best = split;
  }
  return best;
}

std::string interval_text(const Alternative& row) {
  if (!row.interval_90) return significant(row.images_per_s);
  return significant(row.interval_90->at(0)) + "–" + significant(row.interval_90->at(1));
}

bool apart(const Alternative& a, const Alternative& b) {
  if (!a.interval_90 || !b.interval_90) return false;
  return a.interval_90->at(1) < b.interval_90->at(0) || b.interval_90->at(1) < a.interval_90->at(0);
}

std::string batches_text(const Alternative& row) {
  std::string text;
  for (const std::int64_t images : row.micro_batches) {
    if (images == 0) continue;
    text += (text.empty() ? "" : " + ") + std::to_string(images);
  }
  if (row.accumulation_steps > 1) text += fmt::format(" × {} steps", row.accumulation_steps);
  return text;
}

std::string name_of(const Alternative& row) {
  switch (row.kind) {
    case Kind::now:
      return "now";
    case Kind::one_kind_alone:
      return row.device + " alone";
    case Kind::uneven_split:
      return "all, each its share";
    case Kind::side_by_side:
      return "a job each, side by side";
  }
  return {};
}

std::string rates_text(const Alternative& row) {
  if (row.kind != Kind::side_by_side) return significant(row.images_per_s);
  std::string text;
  for (const double rate : row.rates) text += (text.empty() ? "" : " + ") + significant(rate);
  return text;
}

std::string times_text(double factor) { return significant(factor) + "×"; }

}  // namespace

std::string mixed_verdict(const Report& report, const std::vector<Alternative>& rows, int width) {
  const Alternative* now = row_of(rows, Kind::now);
  const Alternative* alone = row_of(rows, Kind::one_kind_alone);
  if (now == nullptr || alone == nullptr) return {};
  const double factor = alone->images_per_s / now->images_per_s;
  std::string text;
  if (factor > 1.0) {
    text = fmt::format(
        "Your slower cards make training {} slower: {} images/s with all, {} on the {} alone at "
        "the "
        "same global batch of {}.",
        times_text(factor), significant(now->images_per_s), significant(alone->images_per_s),
        alone->device, report.global_batch);
  } else {
    text = fmt::format(
        "All cards together are {} faster than the {} alone: {} images/s against {} at the same "
        "global batch of {}.",
        times_text(1.0 / factor), alone->device, significant(now->images_per_s),
        significant(alone->images_per_s), report.global_batch);
  }
  text += apart(*now, *alone)
              ? fmt::format(" Direction certain: with all {}, alone {} (90 % intervals).",
                            interval_text(*now), interval_text(*alone))
              : fmt::format(" Not decided: with all {}, alone {} (90 % intervals overlap).",
                            interval_text(*now), interval_text(*alone));
  return wrapped(text, width) + "\n";
}

std::string alternatives_block(const Report& report, const std::vector<Alternative>& rows,
                               int width) {
  const Alternative* now = row_of(rows, Kind::now);
  if (now == nullptr || rows.size() < 2) return {};
  const Alternative* best = best_of(rows);
  Table table({{.header = fmt::format("at a global batch of {}", report.global_batch),
                .align = Align::left,
                .shortens = true},
               {.header = "images a rank", .align = Align::left, .drop_order = 2},
               {.header = "images/s"},
               {.header = "one epoch", .drop_order = 3},
               {.header = "against now", .drop_order = 1},
               {.header = "", .align = Align::left}});
  for (const Alternative& row : rows) {
    const bool best_row = &row == best && best != now;
    table.add_row({name_of(row), batches_text(row), rates_text(row),
                   row.epoch_time_s ? time_text(*row.epoch_time_s * 1e6) : "–",
                   times_text(row.images_per_s / now->images_per_s),
                   best_row                         ? "← do this"
                   : row.kind == Kind::uneven_split ? "see (1)"
                                                    : ""});
  }
  std::string block = titled("", table.text(width));
  const Alternative* split = row_of(rows, Kind::uneven_split);
  if (split != nullptr) {
    std::string weights;
    const std::size_t kinds = split->micro_batches.size();
    for (std::size_t k = 0; k < kinds; ++k) {
      // W · b / B: DDP averages ranks' gradients, the weight makes it the mean over all images.
      const double weight =
          static_cast<double>(report.world_size) * static_cast<double>(split->micro_batches[k]) *
          static_cast<double>(split->accumulation_steps) / static_cast<double>(report.global_batch);
      weights += (k == 0 ? "" : k + 1 == kinds ? " and " : ", ") + fixed(weight, 4);
    }
    block += wrapped("(1) Needs a sampler of its own and loss weights " + weights +
                         " (ranks × images / global batch). DeepSpeed and the Hugging Face Trainer "
                         "have one micro-batch for all ranks and cannot run it.",
                     width, 4) +
             "\n";
  }
  return block;
}

std::string gpu_memory_block(const Report& report, int width) {
  Table table({{.header = "memory, as nvidia-smi shows it", .align = Align::left},
               {.header = "GiB"},
               {.header = "of GiB"},
               {.header = "activations", .drop_order = 2},
               {.header = "weights, gradients, optimizer", .drop_order = 1},
               {.header = "largest micro-batch"}});
  bool any = false;
  std::set<std::string> missing;
  for (const core::RankReport& rank : report.ranks) {
    missing.insert(rank.not_counted.begin(), rank.not_counted.end());
    if (!rank.memory_capacity) continue;
    any = true;
    const core::Bytes states = rank.peak_memory[core::MemoryCategory::parameters] +
                               rank.peak_memory[core::MemoryCategory::gradients] +
                               rank.peak_memory[core::MemoryCategory::optimizer_state];
    table.add_row({rank.device + (rank.represents > 1 ? fmt::format(", each of {}", rank.represents)
                                                      : std::string()),
                   fixed(in_gib(rank.peak_memory_total), 1),
                   fixed(in_gib(*rank.memory_capacity), 1),
                   fixed(in_gib(rank.peak_memory[core::MemoryCategory::activations]), 1),
                   fixed(in_gib(states), 1),
                   rank.largest_micro_batch ? std::to_string(*rank.largest_micro_batch) : "–"});
  }
  if (!any) return {};
  std::string list;
  for (const std::string& one : missing) list += (list.empty() ? "" : ", ") + one;
  return titled("", table.text(width)) + wrapped("  Not counted: " + list + ".", width, 2) + "\n";
}

}  // namespace paceline::cli
