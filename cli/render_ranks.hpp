#pragma once

#include <string>

#include "cli/console.hpp"
#include "cli/render_prediction.hpp"
#include "core/report.hpp"

/// What a prediction says rank by rank. Neighbouring ranks that look alike share a line.
namespace paceline::cli {

/// One step of each rank as a bar. Empty if there is no step time.
[[nodiscard]] std::string bars_block(const core::Report& report, const Console& console);

/// The phases: mean over ranks, least, most, share of the step. Empty if there is no step time.
[[nodiscard]] std::string phases_block(const core::Report& report, int width);

/// Memory at each rank's peak by category, what is not counted, and the fullest node.
[[nodiscard]] std::string memory_block(const core::Report& report, const NodeMemory& node,
                                       int width);

}  // namespace paceline::cli
