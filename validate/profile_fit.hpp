#pragma once

#include <string>

#include "core/measurements.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::validate {

/// The CPU device that explains `measurements`: for each level and kernel class a non-negative
/// combination of the class's features, fitted to relative error; the residual is kept.
/// Throws `core::ConfigError` if a class has fewer rows than it needs.
[[nodiscard]] hardware_profiles::CpuDevice fit_cpu_device(const core::Measurements& measurements,
                                                          const std::string& id);

/// A cluster file of `measurements`: as many ranks as its largest level, joined by the measured
/// exchanges.
[[nodiscard]] std::string make_cpu_cluster(const core::Measurements& measurements);

}  // namespace paceline::validate
