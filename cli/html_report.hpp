#pragma once

#include <span>
#include <string>

#include "cli/plotly.hpp"
#include "core/report.hpp"

namespace paceline::cli {

/// One page that needs nothing else, no network either: a table of the reports side by side, and
/// charts of the step's phases for each rank, of memory by category, and of time by kind of
/// operation; predicted beside measured in the order given. It states Paceline's version and the
/// hashes of the inputs. Of more than `most_charted_ranks` ranks the first are drawn, and the page
/// says so. Texts from the reports are escaped. Throws `core::UsageError` without a report.
[[nodiscard]] std::string html_report(std::span<const core::Report> reports, const Plotly& plotly);

/// The same with `find_plotly()`.
[[nodiscard]] std::string html_report(std::span<const core::Report> reports);

inline constexpr std::size_t most_charted_ranks = 32;

}  // namespace paceline::cli
