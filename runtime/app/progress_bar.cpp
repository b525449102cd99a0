#include "runtime/app/progress_bar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

std::string clock_text(double seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 3600;
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole < hour) return fmt::format("{}:{:02}", whole / minute, whole % minute);
  return fmt::format("{}:{:02}:{:02}", whole / hour, whole / minute % minute, whole % minute);
}

}  // namespace

std::string progress_text(const std::string& what, double done, double all, double elapsed_s,
                          const std::string& unit) {
  constexpr int cells = 20;
  const double share = all > 0 ? std::clamp(done / all, 0.0, 1.0) : 0.0;
  const auto full = static_cast<std::size_t>(share * cells);
  std::string text = fmt::format("{} [{}{}] {:3.0f} %", what, std::string(full, '#'),
                                 std::string(cells - full, '-'), share * 100);
  if (!unit.empty()) text += fmt::format("  {:.0f}/{:.0f} {}", done, all, unit);
  if (!(share > 0) || !(elapsed_s > 0)) return text;
  if (!unit.empty()) text += fmt::format("  {:.1f} {}/s", done / elapsed_s, unit);
  return text + fmt::format("  {} left", clock_text(elapsed_s * (1.0 - share) / share));
}

ProgressBar::ProgressBar(std::ostream& out, std::string what, std::string unit)
    : out_(out), what_(std::move(what)), unit_(std::move(unit)), started_ns_(now_ns()) {}

ProgressBar::~ProgressBar() { out_ << "\r\x1b[K" << std::flush; }

void ProgressBar::rename(std::string what) { what_ = std::move(what); }

void ProgressBar::show(double done, double all) {
  constexpr std::int64_t interval_ns = 100'000'000;
  const std::int64_t now = now_ns();
  if (shown_ns_ != 0 && now - shown_ns_ < interval_ns) return;
  shown_ns_ = now;
  const double elapsed_s = static_cast<double>(now - started_ns_) * 1e-9;
  out_ << '\r' << progress_text(what_, done, all, elapsed_s, unit_) << "\x1b[K" << std::flush;
}

}  // namespace paceline::runtime
