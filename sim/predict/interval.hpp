#pragma once

#include <map>
#include <string>

#include "core/report.hpp"
#include "core/time.hpp"
#include "hardware_profiles/cluster.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/step_simulation.hpp"

namespace paceline::sim {

/// Kernel time of one step by kernel class, host issue not included.
[[nodiscard]] std::map<std::string, core::Time> time_by_class(const CostedProgram& program);

/// Relative uncertainty of a step: sqrt(Σ over classes (class time / step × residual)²). Errors are
/// taken as fully correlated within a class and independent across classes; communication, host
/// issue and waiting count as exact. Source: docs/formulas_simulation.md, "Interval".
[[nodiscard]] double step_sigma(const std::map<std::string, core::Time>& times,
                                const hardware_profiles::CpuLevel& level, core::Time step);

/// The step with its intervals: lognormal about the prediction, ±0.674 σ and ±1.645 σ in log time.
[[nodiscard]] core::StepTime step_with_intervals(core::Time step, double sigma);

/// What the report says of a simulation that found no fixed period: its step time is a mean.
[[nodiscard]] core::Assumption no_fixed_period(const SimulationResult& result);

}  // namespace paceline::sim
