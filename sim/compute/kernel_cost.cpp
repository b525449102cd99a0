#include "sim/compute/kernel_cost.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/kernel_class.hpp"
#include "sim/compute/microseconds.hpp"

namespace paceline::sim {

KernelCost::KernelCost(const hardware_profiles::CpuDevice& device,
                       const hardware_profiles::CpuLevel& level, std::string file,
                       std::string place)
    : device_(device),
      level_(level),
      file_(std::move(file)),
      place_(std::move(place)),
      host_issue_(time_of_us(device.host_issue_us, "host_issue_us of device " + device.id)) {}

core::Time KernelCost::time_of(const models::Operation& operation) {
  const std::string name(models::kernel_class(operation));
  const auto model = level_.kernels.find(name);
  if (model == level_.kernels.end()) {
    note_missing("class \"" + name + "\"", operation);
    return {};
  }
  double us = 0;
  for (const models::KernelFeature& feature : models::kernel_features(operation)) {
    const auto coefficient = model->second.us_per_feature.find(std::string(feature.name));
    if (coefficient != model->second.us_per_feature.end()) {
      us += coefficient->second * feature.amount;
    } else if (feature.amount != 0) {
      note_missing("feature \"" + std::string(feature.name) + "\" of class \"" + name + "\"",
                   operation);
    }
  }
  return time_of_us(us, operation.name());
}

core::Time KernelCost::reduction(core::Bytes bytes) const {
  const double us = device_.reduction_us_per_call +
                    device_.reduction_us_per_byte * static_cast<double>(bytes.value());
  return time_of_us(us, "a reduction on device " + device_.id);
}

void KernelCost::note_missing(const std::string& what, const models::Operation& operation) {
  Missing& missing = missing_[what];
  if (missing.operations++ == 0) missing.first_operation = operation.name();
}

void KernelCost::report_missing(FaultSet& faults) const {
  for (const auto& [what, missing] : missing_) {
    const std::string others =
        missing.operations > 1 ? fmt::format(" and {} more", missing.operations - 1) : "";
    faults.add(
        {file_, place_,
         fmt::format("no {} (needed by {}{}; measure it with {})", what, missing.first_operation,
                     others, calibrate_command(level_.active_ranks))});
  }
}

std::string calibrate_command(int active_ranks) {
  const std::string launcher = active_ranks > 1 ? fmt::format("mpirun -n {} ", active_ranks) : "";
  return launcher + "paceline-rt calibrate --out measurements.json";
}

}  // namespace paceline::sim
