#pragma once

#include <string>
#include <vector>

#include "core/report.hpp"
#include "sim/search/alternatives.hpp"

namespace paceline::cli {

/// What a job on unlike cards is told first: whether mixing helps at the same global batch, by how
/// much, and how sure that is. Empty where there is nothing to compare.
[[nodiscard]] std::string mixed_verdict(const core::Report& report,
                                        const std::vector<sim::Alternative>& rows, int width);

/// "At a global batch of 128": each row with the same global batch, the best one marked.
[[nodiscard]] std::string alternatives_block(const core::Report& report,
                                             const std::vector<sim::Alternative>& rows, int width);

/// Memory of each kind of card as nvidia-smi shows it, and the largest micro-batch. Empty for CPU
/// ranks.
[[nodiscard]] std::string gpu_memory_block(const core::Report& report, int width);

}  // namespace paceline::cli
