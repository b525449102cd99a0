#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace paceline::cli {

/// plotly.js, which draws the charts of HTML reports and is copied into each of them.
struct Plotly {
  std::string script;   // plotly.min.js
  std::string version;  // "3.0.1", from its first lines
  std::string licence;  // the whole text if it lies beside the script, else its name
};

/// Where `find_plotly` looks, in order: `$PACELINE_PLOTLY_JS` (a file); `plotly/plotly.min.js` in
/// the user's data directory (`scripts/install.sh html` puts it there) and in the installed share
/// directory; where distributions and Python's package `plotly` have it.
[[nodiscard]] std::vector<std::filesystem::path> plotly_places();

/// Throws `core::UsageError` with the places and what to install if it is in none of them.
[[nodiscard]] Plotly find_plotly();

}  // namespace paceline::cli
