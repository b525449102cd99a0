#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/quantity.hpp"
#include "core/report.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"
#include "models/program.hpp"

namespace paceline::sim {

/// Whether one rank's arena fits into its share of the host's memory.
struct MemoryFit {
  core::Bytes total;  // size of the arena
  core::MemoryByCategory at_peak;
  std::string peak_operation;  // where most bytes are alive
  core::Bytes capacity;        // memory of the host / ranks on it
  [[nodiscard]] bool fits() const { return total <= capacity; }
};

[[nodiscard]] MemoryFit memory_fit(const models::Program& program, core::Bytes capacity);

/// What of the device's memory one of `ranks_on_node` ranks may use.
[[nodiscard]] core::Bytes memory_share(const hardware_profiles::CpuDevice& device,
                                       int ranks_on_node);

/// The most images a micro-step of `rank` may have within `capacity`; 0 if not even one fits.
[[nodiscard]] std::int64_t largest_micro_batch(const models::Experiment& experiment, int rank,
                                               core::Bytes capacity);

}  // namespace paceline::sim
