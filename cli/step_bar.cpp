#include "cli/step_bar.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

namespace paceline::cli {
namespace {

using core::TimelinePhase;

constexpr std::size_t parts = 5;

struct Look {
  std::string_view glyph;
  std::string_view name;
  std::string_view colour;  // SGR parameters, empty for none
};

const Look& look_of(std::size_t part) {
  static constexpr std::array<Look, parts> looks{{{"▒", "forward", "36"},
                                                  {"█", "backward", "34"},
                                                  {"·", "waiting", ""},
                                                  {"░", "communication", "33"},
                                                  {"▓", "optimizer", "35"}}};
  return looks.at(part);
}

std::string painted(const std::string& text, std::string_view colour, bool wanted) {
  if (!wanted || colour.empty() || text.empty()) return text;
  return "\x1b[" + std::string(colour) + "m" + text + "\x1b[0m";
}

/// Whole cells with the shares of `times`: each rounded down, then one more for the largest rests.
std::array<int, parts> cells_of(const std::array<double, parts>& times, int cells) {
  std::array<int, parts> whole{};
  const double total = std::accumulate(times.begin(), times.end(), 0.0);
  if (!(total > 0.0)) return whole;
  std::array<double, parts> rest{};
  for (std::size_t i = 0; i < parts; ++i) {
    const double exact = times[i] / total * cells;
    whole[i] = static_cast<int>(std::floor(exact));
    rest[i] = exact - whole[i];
  }
  for (int left = cells - std::accumulate(whole.begin(), whole.end(), 0); left > 0; --left) {
    const auto largest = std::max_element(rest.begin(), rest.end()) - rest.begin();
    ++whole[static_cast<std::size_t>(largest)];
    rest[static_cast<std::size_t>(largest)] = -1.0;
  }
  return whole;
}

}  // namespace

double part_of(const core::PhaseTimes& phases, BarPart part) {
  switch (part) {
    case BarPart::forward:
      return phases[TimelinePhase::forward];
    case BarPart::backward:
      return phases[TimelinePhase::backward];
    case BarPart::communication:
      return phases[TimelinePhase::exposed_communication];
    case BarPart::optimizer:
      return phases[TimelinePhase::optimizer];
    case BarPart::waiting:
      break;
  }
  return phases[TimelinePhase::straggler_wait] + phases[TimelinePhase::pipeline_bubble] +
         phases[TimelinePhase::copy_wait] + phases[TimelinePhase::data_wait] +
         phases[TimelinePhase::host_bound_idle] + phases[TimelinePhase::other];
}

std::string step_bar(const core::PhaseTimes& phases, int cells, bool colour) {
  std::array<double, parts> times{};
  for (std::size_t i = 0; i < parts; ++i) times[i] = part_of(phases, static_cast<BarPart>(i));
  const std::array<int, parts> whole = cells_of(times, cells);
  std::string bar;
  for (std::size_t i = 0; i < parts; ++i) {
    std::string run;
    for (int cell = 0; cell < whole[i]; ++cell) run += look_of(i).glyph;
    bar += painted(run, look_of(i).colour, colour);
  }
  return bar;
}

std::string bar_legend(bool colour) {
  std::string legend;
  for (std::size_t i = 0; i < parts; ++i) {
    if (i > 0) legend += "   ";
    legend += painted(std::string(look_of(i).glyph), look_of(i).colour, colour) + " " +
              std::string(look_of(i).name);
  }
  return legend;
}

}  // namespace paceline::cli
