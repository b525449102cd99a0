#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/json.hpp"
#include "core/statistics.hpp"
#include "hardware_profiles/cluster.hpp"
#include "models/experiment.hpp"
#include "sim/predict/predict.hpp"

/// How far are predictions for PyTorch from steps that others measured (validate/cases)?
namespace paceline::sim {
namespace {

using core::Json;

Json cases(const std::string& name) {
  core::Faults faults;
  const std::string path = std::string(PACELINE_TEST_DIRECTORY) + "/../validate/cases/" + name;
  Json json = core::read_json_file(path, core::Cursor(path, faults));
  faults.throw_if_any();
  return json;
}

core::Report predicted(const Json& set, const Json& row, std::int64_t micro_batch) {
  const Json experiment{{"schema", "paceline/experiment/1"},
                        {"model", row["model"]},
                        {"cluster", {{"devices", {set["gpu"]}}}},
                        {"framework", set["framework"]},
                        {"training",
                         {{"micro_batch", micro_batch},
                          {"precision", row["precision"]},
                          {"optimizer", set.value("optimizer", "adamw")}}}};
  const models::Experiment read = models::read_experiment_text(experiment.dump(), "case");
  return predict(read, hardware_profiles::cluster_of_gpus(
                           read.cluster.devices,
                           std::string(PACELINE_TEST_DIRECTORY) + "/../hardware_profiles"));
}

double allocated_mib(const core::Report& report) {
  const core::RankReport& rank = report.ranks.front();
  const core::Bytes bytes =
      rank.peak_memory_total - rank.peak_memory[core::MemoryCategory::context];
  return static_cast<double>(bytes.value()) / (1024.0 * 1024.0);
}

TEST(PytorchOnH200, peak_memory_is_within_five_percent_on_every_row) {
  const Json set = cases("pytorch_h200.json");
  for (const Json& row : set["rows"]) {
    const core::Report report = predicted(set, row, row["micro_batch"]);
    const double measured = row["peak_allocated_mib"];
    const double error = allocated_mib(report) / measured - 1.0;
    fmt::print("{:24} {:4} {:9} memory {:8.1f} MiB, measured {:8.1f}: {:+.1f} %\n",
               row["model"].get<std::string>(), row["micro_batch"].get<int>(),
               row["precision"].get<std::string>(), allocated_mib(report), measured, 100 * error);
    EXPECT_LE(std::abs(error), 0.05) << row.dump();
  }
}

/// The datasheet's interval must hold what the GPU, not the host, sets the pace of: rows whose
/// processes agree within 5 %. Rows whose kernels the generic efficiencies were read from do not
/// count.
TEST(PytorchOnH200, steps_bound_by_the_gpu_lie_inside_the_interval) {
  const Json set = cases("pytorch_h200.json");
  std::vector<double> errors;
  for (const Json& row : set["rows"]) {
    auto steps = row["step_ms"].get<std::vector<double>>();
    std::sort(steps.begin(), steps.end());
    if (steps.back() / steps.front() > 1.05 || row.value("use", "") == "fit") continue;
    const core::Report report = predicted(set, row, row["micro_batch"]);
    ASSERT_TRUE(report.step_time_us.has_value());
    const double measured = core::median(steps);
    const double ms = report.step_time_us->median * 1e-3;
    errors.push_back(std::abs(ms / measured - 1.0));
    fmt::print("{:24} {:4} {:9} step {:6.1f} ms, measured {:6.1f}: {:+.1f} %\n",
               row["model"].get<std::string>(), row["micro_batch"].get<int>(),
               row["precision"].get<std::string>(), ms, measured, 100 * (ms / measured - 1.0));
    const auto& interval = report.step_time_us->interval_90.value();
    EXPECT_LE(interval[0] * 1e-3, measured) << row.dump();
    EXPECT_GE(interval[1] * 1e-3, measured) << row.dump();
  }
  ASSERT_GE(errors.size(), 6U);
  fmt::print("median error {:.1f} %, worst {:.1f} %\n", 100 * core::median(errors),
             100 * *std::max_element(errors.begin(), errors.end()));
}

TEST(PytorchOnRtx3090, largest_micro_batches_lie_inside_every_bracket) {
  const Json set = cases("pytorch_rtx3090.json");
  for (const Json& row : set["rows"]) {
    const core::Report fits = predicted(set, row, row["largest_that_ran"]);
    EXPECT_TRUE(fits.fits) << row.dump();
    std::string failed = "–";
    if (!row["smallest_that_failed"].is_null()) {
      EXPECT_FALSE(predicted(set, row, row["smallest_that_failed"]).fits) << row.dump();
      failed = std::to_string(row["smallest_that_failed"].get<int>());
    }
    fmt::print("{:24} ran {:3}, failed {:>3}; predicted largest {}\n",
               row["model"].get<std::string>(), row["largest_that_ran"].get<int>(), failed,
               fits.ranks.front().largest_micro_batch.value_or(0));
  }
}

}  // namespace
}  // namespace paceline::sim
