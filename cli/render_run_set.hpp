#pragma once

#include <string>

#include "validate/run_set.hpp"

namespace paceline::cli {

/// The screen of `paceline scoreboard`: one line a configuration, then the summaries.
[[nodiscard]] std::string run_set_screen(const validate::RunSet& set, int width);

/// The same two tables as Markdown.
[[nodiscard]] std::string run_set_markdown(const validate::RunSet& set);

}  // namespace paceline::cli
