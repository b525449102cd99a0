#include "synthetic_measurements.hpp"

namespace paceline::validate {

core::Measurements synthetic_measurements(const std::function<double()>& noise) {
  core::Measurements measurements;
  measurements.provenance["cpu"] = "Planted CPU";
  measurements.threads_per_rank = 3;
  measurements.cores = 6;
  measurements.memory = core::Bytes(INT64_C(8) << 30);
  measurements.host_issue_us = 0.25;
  measurements.transport = "planted";
  for (const int active : {1, 2}) {
    core::MeasuredLevel& level = measurements.levels.emplace_back();
    level.active_ranks = active;
    level.reference_gflop_per_s = 50.0 / active;
    level.reference_p10 = 49.0 / active;
    level.reference_p90 = 51.0 / active;
    for (int size = 0; size < 8; ++size) {
      const double bytes = 1000.0 * (1 << (2 * size));
      core::KernelMeasurement& row = level.kernels.emplace_back();
      row.kernel_class = "gelu";
      row.features = {{"call", 1.0}, {"bytes", bytes}};
      row.time_us = active * (2.0 + 0.5e-3 * bytes) * noise();
      row.p10_us = row.time_us;
      row.p90_us = row.time_us;
      row.samples = 9;
    }
  }
  for (const std::int64_t bytes : {1 << 10, 1 << 14, 1 << 20}) {
    measurements.reductions.push_back(
        {core::Bytes(bytes), 1.0 + 0.25e-3 * static_cast<double>(bytes)});
    const double exchange_us = 5.0 + 0.1e-3 * static_cast<double>(bytes);
    measurements.exchanges.push_back({core::Bytes(bytes), exchange_us, exchange_us, exchange_us});
  }
  return measurements;
}

}  // namespace paceline::validate
