#include "runtime/measure/measured_report.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "runtime/comm/numbers.hpp"

namespace paceline::runtime {
namespace {

using core::Phase;
using core::TimelinePhase;
using models::Operation;

constexpr double us_per_ns = 1e-3;

double us(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * us_per_ns; }

TimelinePhase phase_of(const Operation& operation) {
  switch (operation.phase) {
    case Phase::data:
      return TimelinePhase::data_wait;
    case Phase::forward:
      return TimelinePhase::forward;
    case Phase::backward:
      return TimelinePhase::backward;
    case Phase::communication:
      return TimelinePhase::exposed_communication;
    case Phase::optimizer:
      return TimelinePhase::optimizer;
  }
  return TimelinePhase::other;
}

void add_step(const models::Program& program, const StepRecord& step, std::size_t number,
              const ClockAlignment& clock, const WorldTimes& world, core::PhaseTimes& phases) {
  for (const TimelineEntry& entry : step.timeline) {
    const Operation& operation = program.operations[entry.operation];
    const double duration = us(entry.end_ns - entry.issued_ns);
    const bool waits =
        entry.what == TimelineEntry::What::finish_wait ||
        (entry.what == TimelineEntry::What::operation && operation.phase == Phase::communication);
    double straggler = 0;
    if (waits && world.separates_waits) {
      const double last_joined = world.joined_us.at(entry.operation)[number];
      straggler = std::clamp(last_joined - clock.on_rank_0_us(entry.issued_ns), 0.0, duration);
    }
    phases[TimelinePhase::straggler_wait] += straggler;
    phases[phase_of(operation)] += duration - straggler;
  }
  phases[TimelinePhase::straggler_wait] +=
      std::max(0.0, world.step_us[number] - us(step.end_ns - step.start_ns));
}

/// The half of the steps whose times lie nearest to the median.
std::vector<std::size_t> typical_steps(const std::vector<double>& step_us) {
  std::vector<std::size_t> order(step_us.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const double middle = core::median(step_us);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(step_us[a] - middle) < std::abs(step_us[b] - middle);
  });
  order.resize((order.size() + 1) / 2);
  return order;
}

/// Mean shares of the phases over the typical steps, times the median step: they sum to it.
core::PhaseTimes typical_phases(const models::Program& program, const TimedRun& run,
                                const WorldTimes& world) {
  core::PhaseTimes total;
  const auto chosen = typical_steps(world.step_us);
  const double scale = core::median(world.step_us) / static_cast<double>(chosen.size());
  for (const std::size_t number : chosen) {
    core::PhaseTimes phases;
    add_step(program, run.steps[number], number, run.clock, world, phases);
    for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
      const auto phase = static_cast<TimelinePhase>(i);
      total[phase] += phases[phase] / world.step_us[number] * scale;
    }
  }
  return total;
}

core::Spread spread_of(const std::vector<double>& values) {
  return {.median = core::median(values),
          .p10 = core::quantile(values, 0.1),
          .p90 = core::quantile(values, 0.9)};
}

std::vector<core::OperationReport> operation_reports(const models::Program& program,
                                                     const TimedRun& run) {
  std::vector<std::vector<double>> times(program.operations.size());
  for (const StepRecord& step : run.steps) {
    for (const TimelineEntry& entry : step.timeline) {
      if (entry.what != TimelineEntry::What::operation) continue;
      times[entry.operation].push_back(us(entry.end_ns - entry.issued_ns));
    }
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      if (program.operations[i].stream != core::Stream::communication) continue;
      times[i].push_back(us(step.left_ns[i] - step.joined_ns[i]));
    }
  }
  std::vector<core::OperationReport> reports;
  reports.reserve(program.operations.size());
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const Operation& operation = program.operations[i];
    reports.push_back({.id = operation.name(),
                       .kind = std::string(core::spelling(operation.kind)),
                       .layer = operation.layer,
                       .phase = std::string(core::spelling(operation.phase)),
                       .calls = static_cast<std::int64_t>(times[i].size()),
                       .time_us = spread_of(times[i]),
                       .flops = operation.flops,
                       .bytes = operation.bytes_read + operation.bytes_written});
  }
  return reports;
}

std::vector<core::CollectiveReport> collective_reports(const models::Program& program,
                                                       const WorldTimes& world) {
  std::vector<core::CollectiveReport> reports;
  for (const auto& [index, joined] : world.joined_us) {
    const Operation& operation = program.operations[index];
    const auto& shape = std::get<models::CollectiveShape>(operation.shape);
    const int ranks = static_cast<int>(program.at(shape.communicator).ranks.size());
    std::vector<double> durations;
    durations.reserve(joined.size());
    for (std::size_t step = 0; step < joined.size(); ++step) {
      durations.push_back(world.ended_us.at(index)[step] - joined[step]);
    }
    core::CollectiveReport report{
        .id = operation.name(),
        .kind = std::string(core::spelling(operation.kind)),
        .bytes = core::Bytes(shape.elements * core::bytes_per_element(shape.type)),
        .algorithm = std::string(core::spelling(shape.algorithm)),
        .protocol = "point_to_point",
        .ranks = ranks,
        .time_us = std::max(0.0, core::median(durations))};
    if (report.time_us > 0) {
      report.algbw_gb_per_s = static_cast<double>(report.bytes.value()) / report.time_us * 1e-3;
      report.busbw_gb_per_s = report.algbw_gb_per_s * 2.0 * (ranks - 1) / ranks;
    }
    reports.push_back(report);
  }
  return reports;
}

std::map<std::string, core::CountedWork> counted_in(const TimedRun& run) {
  const models::WorkByKind& first = run.steps.front().counted;
  for (const StepRecord& step : run.steps) {
    if (!(step.counted == first)) {
      throw core::InvariantError("two steps of one Program did different work");
    }
  }
  std::map<std::string, core::CountedWork> counted;
  for (std::size_t i = 0; i < core::count_of<core::OperationKind>; ++i) {
    const auto kind = static_cast<core::OperationKind>(i);
    const models::WorkCount& count = first[kind];
    if (count.calls == 0) continue;
    counted[std::string(core::spelling(kind))] = {.calls = count.calls,
                                                  .flops = count.flops,
                                                  .bytes_read = count.bytes_read,
                                                  .bytes_written = count.bytes_written};
  }
  return counted;
}

void fill_headline(const models::Experiment& experiment, const WorldTimes& world,
                   const TimedRun& run, core::Report& report) {
  const core::Spread spread = spread_of(world.step_us);
  report.step_time_us = core::StepTime{.median = spread.median,
                                       .p10 = spread.p10,
                                       .p90 = spread.p90,
                                       .interval_50 = {},
                                       .interval_90 = {},
                                       .samples = world.step_us};
  report.first_step_us = us(run.first_step_ns);
  const double step_s = spread.median * 1e-6;
  const auto batch = static_cast<double>(report.global_batch);
  report.images_per_s = batch / step_s;
  const auto forward =
      static_cast<double>(models::forward_flops(experiment.model, report.global_batch).value());
  report.model_flop_rate_gflop_per_s = 3.0 * forward / step_s * 1e-9;
}

/// This rank's part of the report, as a document of its own.
core::Report part_of(const models::Experiment& experiment, const models::Program& program,
                     const TimedRun& run, const WorldTimes& world, core::RankReport rank) {
  core::Report part;
  part.kind = core::ReportKind::measured;
  part.model = experiment.model.id;
  part.framework = experiment.framework.title();
  part.world_size = experiment.parallel.world_size;
  part.global_batch = program.global_batch;
  part.accumulation_steps = program.accumulation_steps;
  part.overlap = experiment.parallel.overlap;
  part.identity.experiment_hash = experiment.hash();
  part.identity.program_hashes = {program.hash()};
  rank.phases_us = typical_phases(program, run, world);
  rank.clock_offset_us = run.clock.offset_us();
  rank.clock_uncertainty_us = run.clock.uncertainty_us();
  part.ranks = {std::move(rank)};
  part.counted_work = {counted_in(run)};
  part.reference_rate = core::ReferenceRate{.gflop_per_s = core::median(run.reference_gflop_per_s),
                                            .p10 = core::quantile(run.reference_gflop_per_s, 0.1),
                                            .p90 = core::quantile(run.reference_gflop_per_s, 0.9)};
  return part;
}

std::string clock_text(const WorldTimes& world) {
  if (!world.separates_waits) {
    return "the ranks' clocks are not known well enough: straggler_wait is inside "
           "exposed_communication";
  }
  return world.one_clock ? "one for all ranks" : "aligned by a ping-pong before and after the run";
}

}  // namespace

core::Report measured_report(const models::Experiment& experiment, const models::Program& program,
                             const TimedRun& run, const WorldTimes& world,
                             Communicator& communicator, core::RankReport this_rank) {
  if (run.steps.empty()) throw core::InvariantError("a report of no timed steps");
  core::Report report = part_of(experiment, program, run, world, std::move(this_rank));
  const auto texts = communicator.gather(core::report_text(report));
  if (texts.empty()) return {};
  double rate_sum = 0;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const core::Report part = core::read_report_text(texts[rank], "rank " + std::to_string(rank));
    if (part.reference_rate) rate_sum += part.reference_rate->gflop_per_s;
    if (rank == 0) continue;
    report.ranks.push_back(part.ranks.front());
    report.counted_work.push_back(part.counted_work.front());
    report.identity.program_hashes.push_back(part.identity.program_hashes.front());
  }
  if (report.reference_rate) {
    report.reference_rate->gflop_per_s = rate_sum / static_cast<double>(texts.size());
  }
  report.identity.version = PACELINE_VERSION;
  fill_headline(experiment, world, run, report);
  report.operations = operation_reports(program, run);
  report.collectives = collective_reports(program, world);
  std::int64_t payload = 0;
  for (const core::CollectiveReport& collective : report.collectives) {
    payload += collective.bytes.value();
  }
  report.gradient_bytes_on_wire = core::Bytes(payload);
  report.provenance["clock"] = clock_text(world);
  return report;
}

}  // namespace paceline::runtime
