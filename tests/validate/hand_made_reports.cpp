#include "hand_made_reports.hpp"

namespace paceline::validate {
namespace {

using core::TimelinePhase;

struct Times {
  double forward, backward, communication, optimizer;
  double fc1, fc2, fc1_gradient;
};

core::OperationReport operation(const std::string& id, const std::string& kind,
                                const std::string& phase, double time_us, std::int64_t flops) {
  core::OperationReport report;
  report.id = id;
  report.kind = kind;
  report.phase = phase;
  report.calls = 1;
  report.time_us = {time_us, time_us, time_us};
  report.flops = core::Flops(flops);
  report.bytes = core::Bytes(1000);
  return report;
}

core::Report report_of(const Times& times) {
  core::Report report;
  report.identity = {"0.1.0", "experiment", "profile", {"program0", "program1"}};
  report.model = "vit_digits";
  report.framework = "paceline";
  report.world_size = 2;
  report.global_batch = 16;
  const double step = times.forward + times.backward + times.communication + times.optimizer;
  report.step_time_us = core::StepTime{step, step, step, {}, {}, {}};
  for (int rank = 0; rank < 2; ++rank) {
    core::RankReport& entry = report.ranks.emplace_back();
    entry.rank = rank;
    entry.device = "cpu_rank";
    entry.micro_batch = 8;
    entry.phases_us[TimelinePhase::forward] = times.forward;
    entry.phases_us[TimelinePhase::backward] = times.backward;
    entry.phases_us[TimelinePhase::exposed_communication] = times.communication;
    entry.phases_us[TimelinePhase::optimizer] = times.optimizer;
    entry.peak_memory_total = core::Bytes(3 << 20);
    entry.peak_memory[core::MemoryCategory::activations] = core::Bytes(3 << 20);
    report.counted_work.push_back({{"matmul", {3, core::Flops(800), {}, {}}}});
  }
  report.operations = {operation("fc1", "matmul", "forward", times.fc1, 200),
                       operation("fc2", "matmul", "forward", times.fc2, 100),
                       operation("fc1_gradient", "matmul", "backward", times.fc1_gradient, 500),
                       operation("adamw", "adamw", "optimizer", times.optimizer, 0)};
  core::CollectiveReport& collective = report.collectives.emplace_back();
  collective.id = "bucket0";
  collective.kind = "all_reduce";
  collective.bytes = core::Bytes(30000);
  collective.algorithm = "ring";
  collective.protocol = "simple";
  collective.ranks = 2;
  collective.time_us = times.communication;
  // 30000 bytes / µs = 30 GB/s; of two ranks 2(n−1)/n = 1.
  collective.algbw_gb_per_s = 30.0 / times.communication;
  collective.busbw_gb_per_s = 30.0 / times.communication;
  return report;
}

}  // namespace

core::Report hand_made_prediction() {
  core::Report report = report_of({.forward = 30,
                                   .backward = 50,
                                   .communication = 15,
                                   .optimizer = 5,
                                   .fc1 = 20,
                                   .fc2 = 10,
                                   .fc1_gradient = 50});
  report.kind = core::ReportKind::predicted;
  report.step_time_us->interval_90 = std::vector<double>{90.0, 115.0};
  report.images_per_s = 160000.0;  // 16 images in 100 µs
  report.reference_rate = core::ReferenceRate{40, 40, 40};
  report.bottleneck = core::Bottleneck{core::Cause::compute, "The CPU computes 85 % of the step."};
  return report;
}

core::Report hand_made_measurement() {
  core::Report report = report_of({.forward = 40,
                                   .backward = 60,
                                   .communication = 20,
                                   .optimizer = 5,
                                   .fc1 = 25,
                                   .fc2 = 15,
                                   .fc1_gradient = 60});
  report.kind = core::ReportKind::measured;
  report.step_time_us->samples = std::vector<double>{125.0};
  report.images_per_s = 128000.0;  // 16 images in 125 µs
  report.reference_rate = core::ReferenceRate{36, 35, 37};
  return report;
}

void slow_down(core::Report& report, double factor) {
  core::StepTime& step = *report.step_time_us;
  for (double* time : {&step.median, &step.p10, &step.p90}) *time *= factor;
  if (step.samples) {
    for (double& sample : *step.samples) sample *= factor;
  }
  for (core::RankReport& rank : report.ranks) {
    for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
      rank.phases_us[static_cast<TimelinePhase>(i)] *= factor;
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
  if (report.reference_rate) report.reference_rate->gflop_per_s /= factor;
}

}  // namespace paceline::validate
