#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "core/report.hpp"
#include "hardware_profiles/cluster.hpp"
#include "sim/search/alternatives.hpp"

namespace paceline::cli {

/// How much of a prediction people want to see.
enum class Detail : std::uint8_t {
  quiet,  // the first paragraph
  brief,  // up to the bars
  full,   // everything; for GPUs without the tables of phases, collectives and operations
  all     // those too
};

/// Memory of one node and what its ranks take of it.
struct NodeMemory {
  int node = 0;
  std::int64_t ranks = 0;
  core::Bytes used;
  double available_gib = 0;
};

/// The CPU node of `cluster` that the report's ranks fill most; `ranks` is 0 where no memory is
/// known.
[[nodiscard]] NodeMemory fullest_node(const core::Report& report,
                                      const hardware_profiles::Cluster& cluster);

/// The screen of `paceline predict` for a predicted report. `cluster` is what people call it;
/// `alternatives` are other ways to train the same global batch, for jobs on unlike cards.
[[nodiscard]] std::string prediction_screen(const core::Report& report, const std::string& cluster,
                                            const NodeMemory& node, Detail detail,
                                            const Console& console,
                                            const std::vector<sim::Alternative>& alternatives = {});

}  // namespace paceline::cli
