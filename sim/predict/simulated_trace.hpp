#pragma once

#include <string>
#include <vector>

#include "core/trace.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/step_simulation.hpp"

namespace paceline::sim {

/// The reported step of a simulation that kept its segments; time 0 is its earliest begin.
/// `device_names` by rank.
[[nodiscard]] core::Trace simulated_trace(const World& world, const SimulationResult& result,
                                          const std::vector<std::string>& device_names);

}  // namespace paceline::sim
