#include "sim/predict/predict.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/statistics.hpp"
#include "models/architecture.hpp"
#include "sim/memory/memory_fit.hpp"
#include "sim/predict/bottleneck.hpp"
#include "sim/predict/epoch.hpp"
#include "sim/predict/interval.hpp"
#include "sim/predict/setup.hpp"
#include "sim/predict/simulated_trace.hpp"
#include "sim/simulation/step_simulation.hpp"

namespace paceline::sim {
namespace {

using core::TimelinePhase;
using hardware_profiles::Cluster;
using models::Experiment;

core::Report report_of(const Experiment& experiment, const Cluster& cluster, const Setup& setup) {
  core::Report report;
  report.kind = core::ReportKind::predicted;
  report.identity.version = PACELINE_VERSION;
  report.identity.experiment_hash = experiment.hash();
  report.identity.profile_hash = cluster.hash;
  for (const models::Program& program : setup.programs) {
    report.identity.program_hashes.push_back(program.hash());
  }
  report.model = experiment.model.id;
  report.framework = experiment.framework.title();
  report.world_size = experiment.parallel.world_size;
  report.global_batch = experiment.global_batch();
  report.accumulation_steps = experiment.training.accumulation_steps;
  report.overlap = experiment.parallel.overlap;
  std::vector<double> rates;
  rates.reserve(setup.levels.size());
  for (const auto* level : setup.levels) rates.push_back(level->reference_gflop_per_s);
  report.reference_rate = core::ReferenceRate{.gflop_per_s = core::median(rates),
                                              .p10 = core::quantile(rates, 0.1),
                                              .p90 = core::quantile(rates, 0.9)};
  return report;
}

core::Bytes payload_of(const models::CollectiveShape& shape) {
  return core::Bytes(shape.elements * core::bytes_per_element(shape.type));
}

core::Bytes gradient_bytes(const models::Program& program) {
  core::Bytes sum;
  for (const models::Operation& operation : program.operations) {
    const auto* shape = std::get_if<models::CollectiveShape>(&operation.shape);
    if (shape != nullptr && operation.bucket >= 0) sum += payload_of(*shape);
  }
  return sum;
}

std::map<std::string, core::CountedWork> counted_work(const models::Program& program) {
  const models::WorkByKind work = models::work_by_kind(program);
  std::map<std::string, core::CountedWork> counted;
  for (std::size_t i = 0; i < core::count_of<core::OperationKind>; ++i) {
    const auto kind = static_cast<core::OperationKind>(i);
    const models::WorkCount& count = work[kind];
    if (count.calls == 0) continue;
    counted[std::string(core::spelling(kind))] = {.calls = count.calls,
                                                  .flops = count.flops,
                                                  .bytes_read = count.bytes_read,
                                                  .bytes_written = count.bytes_written};
  }
  return counted;
}

/// Ranks with their memory, and what every Program says about itself.
void add_ranks(const Experiment& experiment, const Setup& setup,
               const std::vector<MemoryFit>& memory, core::Report& report) {
  for (std::size_t rank = 0; rank < setup.programs.size(); ++rank) {
    core::RankReport& entry = report.ranks.emplace_back();
    entry.rank = static_cast<int>(rank);
    entry.device = setup.devices[rank]->id;
    entry.micro_batch = experiment.micro_batch_of(entry.rank);
    entry.peak_memory_total = memory[rank].total;
    entry.peak_memory = memory[rank].at_peak;
    entry.not_counted = {"evaluation", "program and library code",
                         "matrix product packing buffers"};
    report.counted_work.push_back(counted_work(setup.programs[rank]));
  }
  report.gradient_bytes_on_wire = gradient_bytes(setup.programs.front());
}

/// True if all ranks fit; else says in the report which does not.
bool decide_fit(const Experiment& experiment, const Setup& setup,
                const std::vector<MemoryFit>& memory, core::Report& report) {
  const auto worst =
      std::max_element(memory.begin(), memory.end(), [](const MemoryFit& a, const MemoryFit& b) {
        return a.total - a.capacity < b.total - b.capacity;
      });
  report.fits = worst->fits();
  if (report.fits) return true;
  const auto rank = static_cast<int>(worst - memory.begin());
  report.bottleneck =
      memory_bottleneck(rank, setup.devices[static_cast<std::size_t>(rank)]->name, *worst,
                        largest_micro_batch(experiment, rank, worst->capacity));
  return false;
}

void add_headline(const Experiment& experiment, core::Time step, core::Report& report) {
  const double step_s = step.seconds();
  if (step_s <= 0) return;
  report.images_per_s = static_cast<double>(report.global_batch) / step_s;
  const auto forward =
      static_cast<double>(models::forward_flops(experiment.model, report.global_batch).value());
  report.model_flop_rate_gflop_per_s = 3.0 * forward / step_s * 1e-9;
  if (const auto samples = experiment.training.dataset.samples) {
    report.epoch_time_s = static_cast<double>(steps_per_epoch(experiment, *samples)) * step_s;
  }
}

void add_phases(const SimulationResult& result, core::Report& report) {
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    for (std::size_t i = 0; i < core::count_of<TimelinePhase>; ++i) {
      const auto phase = static_cast<TimelinePhase>(i);
      report.ranks[rank].phases_us[phase] = result.ranks[rank].phases[phase].us();
    }
  }
}

/// The collective's operation in the Program of one of its members.
const models::Operation& operation_of(const World& world, const CollectiveResult& collective) {
  const int member = world.communicators[collective.communicator].ranks.front();
  const CostedProgram& program = world.programs[static_cast<std::size_t>(member)];
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (program.operations[i].collective == no_collective) continue;
    const CostedCollective& costed = program.collectives[program.operations[i].collective];
    if (costed.communicator == collective.communicator && costed.sequence == collective.sequence) {
      return program.program->operations[i];
    }
  }
  throw core::InvariantError("a collective was simulated that no Program has");
}

void add_collectives(const World& world, const SimulationResult& result, core::Report& report) {
  for (const CollectiveResult& collective : result.collectives) {
    const models::Operation& operation = operation_of(world, collective);
    const auto& shape = std::get<models::CollectiveShape>(operation.shape);
    core::CollectiveReport& entry = report.collectives.emplace_back();
    entry.id = operation.name();
    entry.kind = core::spelling(operation.kind);
    entry.bytes = payload_of(shape);
    entry.algorithm = core::spelling(shape.algorithm);
    entry.protocol = "point_to_point";
    entry.ranks = static_cast<int>(world.communicators[collective.communicator].ranks.size());
    entry.time_us = (collective.end - collective.last_arrival).us();
    if (entry.time_us <= 0) continue;
    entry.algbw_gb_per_s = static_cast<double>(entry.bytes.value()) / entry.time_us * 1e-3;
    entry.busbw_gb_per_s = entry.algbw_gb_per_s * 2.0 * (entry.ranks - 1) / entry.ranks;
  }
}

/// Time of operation `index` of rank 0, as the runtime measures it: host issue included; a
/// collective from where the rank turned to it to where it left it.
core::Time operation_time(const World& world, const SimulationResult& result, std::size_t index) {
  const CostedProgram& program = world.programs.front();
  const CostedOperation& costed = program.operations[index];
  if (costed.collective == no_collective) return costed.duration;
  const CostedCollective& collective = program.collectives[costed.collective];
  for (const CollectiveResult& one : result.collectives) {
    if (one.communicator != collective.communicator || one.sequence != collective.sequence) {
      continue;
    }
    return one.left[collective.position] - one.arrived[collective.position] + costed.host_issue;
  }
  throw core::InvariantError("a collective of rank 0 was not simulated");
}

void add_operations(const World& world, const SimulationResult& result, core::Report& report) {
  const models::Program& program = *world.programs.front().program;
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    const models::Operation& operation = program.operations[i];
    const double us = operation_time(world, result, i).us();
    report.operations.push_back({.id = operation.name(),
                                 .kind = std::string(core::spelling(operation.kind)),
                                 .layer = operation.layer,
                                 .phase = std::string(core::spelling(operation.phase)),
                                 .calls = 1,
                                 .time_us = {.median = us, .p10 = us, .p90 = us},
                                 .flops = operation.flops,
                                 .bytes = operation.bytes_read + operation.bytes_written});
  }
}

bool is_product(const models::Operation& operation) { return operation.flops > core::Flops{}; }

Reach reach_of(const Cluster& cluster, std::size_t ranks) {
  if (ranks == 1) return Reach::one_rank;
  const auto& slots = cluster.slots;
  const bool one_node = std::all_of(
      slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(ranks),
      [&](const hardware_profiles::Slot& slot) { return slot.node == slots.front().node; });
  return one_node ? Reach::one_node : Reach::several_nodes;
}

StepLoad step_load(const Experiment& experiment, const Cluster& cluster, const Setup& setup,
                   const World& world, const SimulationResult& result) {
  StepLoad load{.step = result.step_time,
                .ranks = {},
                .reach = reach_of(cluster, setup.programs.size()),
                .gradient_bytes = gradient_bytes(setup.programs.front()),
                .interval_90_us = {}};
  for (std::size_t rank = 0; rank < setup.programs.size(); ++rank) {
    RankLoad entry{.device_name = setup.devices[rank]->name,
                   .micro_batch = experiment.micro_batch_of(static_cast<int>(rank)),
                   .phases = result.ranks[rank].phases,
                   .products = {},
                   .other_kernels = {}};
    for (std::size_t i = 0; i < setup.programs[rank].operations.size(); ++i) {
      const models::Operation& operation = setup.programs[rank].operations[i];
      const CostedOperation& costed = world.programs[rank].operations[i];
      if (costed.collective != no_collective || operation.phase == core::Phase::data) continue;
      (is_product(operation) ? entry.products : entry.other_kernels) += costed.duration;
    }
    load.ranks.push_back(std::move(entry));
  }
  return load;
}

/// The step time with its intervals, from the kernels of the rank that the others wait for.
core::StepTime step_time_of(const Setup& setup, const World& world, const SimulationResult& result,
                            std::size_t slowest) {
  const double sigma =
      step_sigma(time_by_class(world.programs[slowest]), *setup.levels[slowest], result.step_time);
  return step_with_intervals(result.step_time, sigma);
}

std::vector<MemoryFit> memory_of(const Setup& setup) {
  std::vector<MemoryFit> memory;
  memory.reserve(setup.programs.size());
  for (std::size_t rank = 0; rank < setup.programs.size(); ++rank) {
    memory.push_back(memory_fit(setup.programs[rank],
                                memory_share(*setup.devices[rank], setup.ranks_on_node[rank])));
  }
  return memory;
}

std::vector<std::string> device_names(const Setup& setup) {
  std::vector<std::string> names;
  names.reserve(setup.devices.size());
  for (const auto* device : setup.devices) names.push_back(device->name);
  return names;
}

Prediction predicted(const Experiment& experiment, const Cluster& cluster, Timeline::Keep keep) {
  const Setup setup = set_up(experiment, cluster);
  Prediction prediction;
  core::Report& report = prediction.report;
  report = report_of(experiment, cluster, setup);
  const std::vector<MemoryFit> memory = memory_of(setup);
  add_ranks(experiment, setup, memory, report);
  if (!decide_fit(experiment, setup, memory, report)) return prediction;

  const World world = cost_setup(setup, cluster);
  const SimulationResult result = simulate_steps(world, {.keep = keep});
  StepLoad load = step_load(experiment, cluster, setup, world, result);
  const core::StepTime step = step_time_of(setup, world, result, slowest_rank(load.ranks));
  report.step_time_us = step;
  report.first_step_us = result.first_step.us();
  add_headline(experiment, result.step_time, report);
  add_phases(result, report);
  add_collectives(world, result, report);
  add_operations(world, result, report);
  if (!result.periodic) report.assumptions.push_back(no_fixed_period(result));
  load.interval_90_us = step.interval_90.value_or(std::vector<double>{});
  report.bottleneck = bottleneck_of(load);
  if (keep == Timeline::Keep::segments) {
    prediction.trace = simulated_trace(world, result, device_names(setup));
  }
  return prediction;
}

}  // namespace

core::Report predict(const Experiment& experiment, const Cluster& cluster) {
  return predicted(experiment, cluster, Timeline::Keep::sums).report;
}

Prediction predict_with_trace(const Experiment& experiment, const Cluster& cluster) {
  return predicted(experiment, cluster, Timeline::Keep::segments);
}

}  // namespace paceline::sim
