#include "sim/predict/interval.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "models/kernel_class.hpp"

namespace paceline::sim {

std::map<std::string, core::Time> time_by_class(const CostedProgram& program) {
  std::map<std::string, core::Time> times;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const CostedOperation& costed = program.operations[i];
    if (costed.collective != no_collective) continue;
    const models::Operation& operation = program.program->operations[i];
    times[std::string(models::kernel_class(operation))] += costed.duration - costed.host_issue;
  }
  return times;
}

double step_sigma(const std::map<std::string, core::Time>& times,
                  const hardware_profiles::CpuLevel& level, core::Time step) {
  if (step <= core::Time{}) return 0;
  double variance = 0;
  for (const auto& [name, time] : times) {
    const auto model = level.kernels.find(name);
    if (model == level.kernels.end()) continue;
    const double part = time.seconds() / step.seconds() * model->second.residual;
    variance += part * part;
  }
  return std::sqrt(variance);
}

core::StepTime step_with_intervals(core::Time step, double sigma) {
  constexpr double quartile = 0.674489750196082;      // of the standard normal distribution: 75 %
  constexpr double ninety_fifth = 1.644853626951473;  // 95 %
  const double us = step.us();
  const auto interval = [&](double sigmas) {
    return std::vector{us * std::exp(-sigmas * sigma), us * std::exp(sigmas * sigma)};
  };
  return {.median = us,
          .p10 = us,
          .p90 = us,
          .interval_50 = interval(quartile),
          .interval_90 = interval(ninety_fifth),
          .samples = {}};
}

core::Assumption no_fixed_period(const SimulationResult& result) {
  return {.key = "steady_state",
          .value = fmt::format("mean of {} steps, which have no fixed period", result.steps - 1),
          .origin = "simulation",
          .step_time_us_low = result.shortest_period.us(),
          .step_time_us_high = result.longest_period.us()};
}

}  // namespace paceline::sim
