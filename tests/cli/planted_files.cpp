#include "planted_files.hpp"

#include <stdexcept>

#include "core/file.hpp"
#include "core/json.hpp"
#include "core/measurements.hpp"
#include "models/experiment.hpp"
#include "models/kernel_class.hpp"
#include "models/lowering/lowering.hpp"

namespace paceline::cli {
namespace {

using core::Json;

double planted_us(const std::string& feature) {
  if (feature == "call") return 1.0;
  if (feature == "bytes") return 1e-4;
  if (feature == "mnk" || feature == "score_products") return 5e-5;
  return feature == "scores" ? 1e-3 : 0.0;
}

/// One row for each operation of a training step that computes.
void add_rows(core::MeasuredLevel& level, const std::string& model, int images, double slowness) {
  const models::Experiment experiment = models::read_experiment_text(
      R"({"schema": "paceline/experiment/1", "model": )" + model +
          R"(, "training": {"micro_batch": )" + std::to_string(images) + "}}",
      "planted");
  const models::Program program = models::lower_training(experiment, 0);
  for (const models::Operation& operation : program.operations) {
    const auto features = models::kernel_features(operation);
    if (features.empty()) continue;
    core::KernelMeasurement& row = level.kernels.emplace_back();
    row.kernel_class = models::kernel_class(operation);
    for (const models::KernelFeature& feature : features) {
      row.features[std::string(feature.name)] = feature.amount;
      row.time_us += slowness * planted_us(std::string(feature.name)) * feature.amount;
    }
    row.p10_us = row.time_us;
    row.p90_us = row.time_us;
    row.samples = 9;
  }
}

}  // namespace

std::string planted_measurements() {
  core::Measurements measurements;
  measurements.provenance = {{"host", "planted"}, {"cpu", "Planted CPU"}};
  measurements.cores = 2;
  measurements.memory = core::Bytes(INT64_C(8) << 30);
  measurements.host_issue_us = 0.5;
  measurements.transport = "shared memory";
  for (const int active : {1, 2}) {
    const double slowness = active == 1 ? 1.0 : 1.5;
    core::MeasuredLevel& level = measurements.levels.emplace_back();
    level.active_ranks = active;
    level.reference_gflop_per_s = 40.0 / slowness;
    level.reference_p10 = level.reference_gflop_per_s;
    level.reference_p90 = level.reference_gflop_per_s;
    for (const int images : {1, 2, 5, 8, 16}) {
      add_rows(level, R"("vit_digits")", images, slowness);
      add_rows(level, R"({"base": "vit_digits", "depth": 1, "width": 96, "patch_size": 4})", images,
               slowness);
    }
  }
  for (const std::int64_t bytes : {1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 24}) {
    const auto size = static_cast<double>(bytes);
    const double exchange_us = 4.0 + 2e-4 * size;
    measurements.exchanges.push_back({core::Bytes(bytes), exchange_us, exchange_us, exchange_us});
    measurements.reductions.push_back({core::Bytes(bytes), 0.5 + 1e-4 * size});
  }
  return core::measurements_text(measurements);
}

std::string planted_experiment() {
  return R"({
  "schema": "paceline/experiment/1",
  "model": "vit_digits", "framework": "paceline",
  "cluster": "this_machine.json",
  "training": {"micro_batch": 8},
  "parallel": {"world_size": 2}
}
)";
}

std::string planted_gpus() {
  return "index, name, memory.total [MiB], uuid, pcie.link.gen.max, pcie.link.gen.current, "
         "pcie.link.width.max, pcie.link.width.current\n"
         "0, NVIDIA GeForce RTX 3090, 24576 MiB, GPU-0, 4, 1, 16, 8\n"
         "1, NVIDIA GeForce GTX 1080 Ti, 11264 MiB, GPU-1, 3, 1, 16, 8\n";
}

std::string planted_topology() {
  return "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n"
         "GPU0\t X \tPHB\t0-15\t0\n"
         "GPU1\tPHB\t X \t0-15\t0\n";
}

std::string measured_like(const core::Report& predicted, double factor, double slowness) {
  core::Report report = predicted;
  report.kind = core::ReportKind::measured;
  core::StepTime& step = *report.step_time_us;
  step.median *= factor;
  step.p10 *= factor;
  step.p90 *= factor;
  step.interval_50.reset();
  step.interval_90.reset();
  step.samples = std::vector<double>{step.median};
  for (core::RankReport& rank : report.ranks) {
    for (std::size_t i = 0; i < core::count_of<core::TimelinePhase>; ++i) {
      rank.phases_us[static_cast<core::TimelinePhase>(i)] *= factor;
    }
  }
  for (core::OperationReport& operation : report.operations) {
    operation.time_us.median *= factor;
    operation.time_us.p10 *= factor;
    operation.time_us.p90 *= factor;
  }
  for (core::CollectiveReport& collective : report.collectives) {
    collective.time_us *= factor;
    collective.algbw_gb_per_s /= factor;
    collective.busbw_gb_per_s /= factor;
  }
  report.reference_rate->gflop_per_s /= slowness;
  report.reference_rate->p10 /= slowness;
  report.reference_rate->p90 /= slowness;
  return core::report_text(report);
}

ExampleWorkplace::ExampleWorkplace() {
  write("measurements.json", planted_measurements());
  write("experiment.json", planted_experiment());
  write("gpus.csv", planted_gpus());
  write("topo.txt", planted_topology());
  const auto must_run = [&](const std::vector<std::string>& words) {
    const Ran ran = run(words);
    if (ran.code != 0) throw std::runtime_error(words.front() + ": " + ran.err);
  };
  must_run({"make-profile", "measurements.json", "--out", "this_machine.json"});
  must_run({"predict", "experiment.json", "--json", "predicted.json"});
  const core::Report predicted = core::read_report(path("predicted.json"));
  write("measured.json", measured_like(predicted, 1.25, 1.1));
  write("measured.1.json", measured_like(predicted, 1.1, 1.1));
  write("measured.2.json", measured_like(predicted, 1.2, 1.1));
  std::filesystem::create_directory(path("runs"));
  write("runs/digits.predicted.json", read("predicted.json"));
  write("runs/digits.measured.1.json", read("measured.1.json"));
  write("runs/digits.measured.2.json", read("measured.2.json"));
}

}  // namespace paceline::cli
