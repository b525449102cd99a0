#pragma once

#include <string>

#include "core/report.hpp"

namespace paceline::cli {

/// What a bar tells apart, in the order in which it is drawn.
enum class BarPart : std::uint8_t { forward, backward, waiting, communication, optimizer };

/// Time of each part: waiting is everything in which the rank neither computes nor communicates.
[[nodiscard]] double part_of(const core::PhaseTimes& phases, BarPart part);

/// One rank's step in `cells` characters: ▒ forward, █ backward, · waiting, ░ communication,
/// ▓ optimizer; each part as long as its share, rounded so that all add up to `cells`.
[[nodiscard]] std::string step_bar(const core::PhaseTimes& phases, int cells, bool colour);

/// "▒ forward   █ backward   …"
[[nodiscard]] std::string bar_legend(bool colour);

}  // namespace paceline::cli
