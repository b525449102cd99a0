#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "core/time.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/program.hpp"
#include "sim/compute/fault_set.hpp"

namespace paceline::sim {

/// Times of operations on one CPU device at one level of load:
///   time = Σ over features f of the kernel class: coefficient[f] × amount[f], rounded up to 1 ps.
/// Source: docs/formulas_simulation.md, "Kernel time". What the profile lacks is collected, so that
/// one message names all of it.
class KernelCost {
 public:
  /// Both must outlive the object. `place` is where the level stands in messages.
  KernelCost(const hardware_profiles::CpuDevice& device, const hardware_profiles::CpuLevel& level,
             std::string file, std::string place);

  /// Zero, and a missing class or feature noted, where the level has no model of the operation.
  /// Throws `core::RunError` beyond `core::time_limit`.
  [[nodiscard]] core::Time time_of(const models::Operation& operation);

  [[nodiscard]] core::Time host_issue() const { return host_issue_; }
  /// Adding a received slice to the own buffer.
  [[nodiscard]] core::Time reduction(core::Bytes bytes) const;

  /// One fault for each class or feature that was asked for and is not there.
  void report_missing(FaultSet& faults) const;

 private:
  struct Missing {
    std::string first_operation;
    std::size_t operations = 0;
  };
  void note_missing(const std::string& what, const models::Operation& operation);

  const hardware_profiles::CpuDevice& device_;
  const hardware_profiles::CpuLevel& level_;
  std::string file_;
  std::string place_;
  core::Time host_issue_;
  std::map<std::string, Missing> missing_;  // "class \"add\"" → who needs it
};

/// The command that measures what a profile lacks.
[[nodiscard]] std::string calibrate_command(int active_ranks);

}  // namespace paceline::sim
