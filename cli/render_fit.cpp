#include "cli/render_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/display_text.hpp"
#include "cli/quantity_text.hpp"
#include "cli/table.hpp"

namespace paceline::cli {
namespace {

using hardware_profiles::CpuDevice;
using hardware_profiles::KernelModel;

double coefficient(const KernelModel& model, const std::string& feature) {
  const auto found = model.us_per_feature.find(feature);
  return found == model.us_per_feature.end() ? 0.0 : found->second;
}

/// Products of one unit of the feature: models/program.hpp, `Operation::flops`.
double flops_per_unit(const std::string& kernel_class, const std::string& feature) {
  if (feature == "mnk") return 2.0;
  if (feature != "score_products") return 0.0;
  return kernel_class == "attention_gradient" ? 8.0 : 4.0;
}

/// "bytes at 12.3 GB/s, beyond 1 MiB at 8.1 GB/s": slopes add up from hinge to hinge.
std::vector<std::string> byte_parts(const KernelModel& model) {
  static constexpr std::array<std::pair<const char*, const char*>, 3> ranges{
      {{"bytes", "bytes"},
       {"bytes_beyond_1_mib", "beyond 1 MiB"},
       {"bytes_beyond_16_mib", "beyond 16 MiB"}}};
  std::vector<std::string> parts;
  double us_per_byte = 0.0;
  for (const auto& [feature, name] : ranges) {
    const double more = coefficient(model, feature);
    us_per_byte += more;
    if (more > 0.0) {
      parts.push_back(fmt::format("{} at {} GB/s", name, significant(1e-3 / us_per_byte)));
    }
  }
  return parts;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "nothing" : text;
}

/// Adds a row whose last cell takes as many lines as it needs.
void add_wrapped(Table& table, std::vector<std::string> cells, const std::string& last, int width) {
  std::istringstream lines(wrapped(last, width));
  for (std::string line; std::getline(lines, line);) {
    cells.push_back(line);
    table.add_row(cells);
    cells.assign(cells.size() - 1, "");
  }
}

std::string level_table(const hardware_profiles::CpuLevel& level, int width) {
  std::size_t longest = 0;
  for (const auto& [name, model] : level.kernels) longest = std::max(longest, name.size());
  const int rest = std::max(24, width - static_cast<int>(longest) - 24);
  Table table({{.header = "class", .align = Align::left},
               {.header = "rows", .drop_order = 1},
               {.header = "residual %"},
               {.header = "its time", .align = Align::left}});
  for (const auto& [name, model] : level.kernels) {
    add_wrapped(table, {name, std::to_string(model.rows), fixed(model.residual * 100.0, 1)},
                kernel_model_text(name, model), rest);
  }
  return table.text(width);
}

std::string worst_class(const CpuDevice& device) {
  const std::string* worst = nullptr;
  double residual = -1.0;
  int ranks = 0;
  for (const auto& level : device.levels) {
    for (const auto& [name, model] : level.kernels) {
      if (model.residual <= residual) continue;
      worst = &name;
      residual = model.residual;
      ranks = level.active_ranks;
    }
  }
  if (worst == nullptr) return {};
  return fmt::format("Least certain: {}, off by {} (standard deviation) with {}.\n", *worst,
                     percent(residual), counted(ranks, "active rank"));
}

}  // namespace

std::string kernel_model_text(const std::string& kernel_class, const KernelModel& model) {
  static const std::vector<std::pair<std::string, std::string>> counted_things{
      {"rows", "row"},   {"heads", "head"},     {"scores", "score"},  {"values", "value"},
      {"mn", "element"}, {"mk", "A's element"}, {"kn", "B's element"}};
  std::vector<std::string> parts;
  if (const double call = coefficient(model, "call"); call > 0.0) {
    parts.push_back(time_text(call) + " a call");
  }
  for (const auto& [feature, us] : model.us_per_feature) {
    const double flops = flops_per_unit(kernel_class, feature);
    if (us <= 0.0 || feature == "call" || feature.starts_with("bytes")) continue;
    if (flops > 0.0) {
      parts.push_back(fmt::format("products at {} GFLOP/s", significant(flops * 1e-3 / us)));
      continue;
    }
    const auto named = std::find_if(counted_things.begin(), counted_things.end(),
                                    [&](const auto& one) { return one.first == feature; });
    const std::string& thing = named == counted_things.end() ? feature : named->second;
    parts.push_back(fmt::format("{} ns per {}", significant(us * 1e3), thing));
  }
  for (std::string& part : byte_parts(model)) parts.push_back(std::move(part));
  return joined(parts);
}

std::string fit_screen(const CpuDevice& device, const core::Measurements& measurements, int width) {
  std::string screen =
      fmt::format("{}: {} a rank, {} GiB, {} µs to issue an operation\n", device.name,
                  counted(device.threads, "thread"), significant(device.memory_gib),
                  significant(device.host_issue_us));
  for (const auto& level : device.levels) {
    screen +=
        fmt::format("\n{} at once, reference product {} GFLOP/s each\n",
                    counted(level.active_ranks, "rank"), significant(level.reference_gflop_per_s));
    screen += level_table(level, width);
  }
  screen += titled("", worst_class(device));
  if (!measurements.exchanges.empty()) {
    KernelModel reduction;
    reduction.us_per_feature = {{"call", device.reduction_us_per_call},
                                {"bytes", device.reduction_us_per_byte}};
    screen += wrapped(fmt::format("Exchanges of two ranks: {} sizes over {}. Adding a received "
                                  "slice: {}.",
                                  measurements.exchanges.size(), measurements.transport,
                                  kernel_model_text("reduction", reduction)),
                      width) +
              "\n";
  }
  return screen;
}

}  // namespace paceline::cli
