#pragma once

#include <string>

#include "core/measurements.hpp"
#include "hardware_profiles/cluster.hpp"

namespace paceline::cli {

/// What a fitted class's time is made of: "1.2 µs a call, products at 41.3 GFLOP/s, 0.05 ns a row".
/// Parts that are zero are left out; bytes come as the rate in each range of sizes.
[[nodiscard]] std::string kernel_model_text(const std::string& kernel_class,
                                            const hardware_profiles::KernelModel& model);

/// The screen of `paceline make-profile`: each level and class with rows, residual and meaning.
[[nodiscard]] std::string fit_screen(const hardware_profiles::CpuDevice& device,
                                     const core::Measurements& measurements, int width);

}  // namespace paceline::cli
