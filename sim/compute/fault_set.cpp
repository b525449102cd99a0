#include "sim/compute/fault_set.hpp"

#include <algorithm>

namespace paceline::sim {

void FaultSet::add(const core::Fault& fault) {
  const auto is_same = [&](const core::Fault& other) { return other.text() == fault.text(); };
  if (std::none_of(faults_.begin(), faults_.end(), is_same)) faults_.push_back(fault);
}

void FaultSet::add_all(const std::vector<core::Fault>& faults) {
  for (const core::Fault& fault : faults) add(fault);
}

void FaultSet::throw_if_any() const {
  if (!faults_.empty()) throw core::ConfigError(faults_);
}

}  // namespace paceline::sim
