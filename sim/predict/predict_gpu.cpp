#include "sim/predict/predict_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "core/error.hpp"
#include "core/rates.hpp"
#include "models/framework_profile.hpp"
#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "sim/collectives/collective_model.hpp"
#include "sim/compute/gpu_kernel_cost.hpp"
#include "sim/compute/microseconds.hpp"
#include "sim/predict/bottleneck.hpp"
#include "sim/predict/interval.hpp"
#include "sim/predict/report_parts.hpp"
#include "sim/predict/setup.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/gpu_steps.hpp"

namespace paceline::sim {
namespace {

using core::OperationKind;
using core::Phase;
using core::TimelinePhase;
using hardware_profiles::Cluster;
using hardware_profiles::Gpu;
using models::Experiment;

/// Ranks on the same kind of card with the same micro-batch.
struct RankClass {
  const Gpu* gpu = nullptr;
  std::vector<int> ranks;
  models::Program program;  // of the first of them
};

/// What nvidia-smi shows of a process before it has any tensor.
constexpr std::int64_t context_mib = 480;

constexpr int hopper = 90;

/// cuBLAS takes its workspace from PyTorch's allocator, once for the thread that runs the forward
/// pass and once for that of the backward pass (aten/src/ATen/cuda/CublasHandlePool.cpp).
core::Bytes workspace_of(const Gpu& gpu) {
  constexpr std::int64_t threads = 2;
  constexpr std::int64_t kib = 1024;
  constexpr std::int64_t large_kib = INT64_C(4096) * 8;                    // compute capability 9.0
  constexpr std::int64_t small_kib = INT64_C(4096) * 2 + INT64_C(16) * 8;  // others
  const bool large = gpu.compute_capability_number() == hopper;
  return core::Bytes(threads * kib * (large ? large_kib : small_kib));
}

/// Classes issue the same collectives in the same order: then so do all ranks.
void check_collectives(const std::vector<RankClass>& classes) {
  const auto shapes = [](const models::Program& program) {
    std::vector<std::pair<std::size_t, const models::CollectiveShape*>> list;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      const auto* shape = std::get_if<models::CollectiveShape>(&program.operations[i].shape);
      if (shape != nullptr) list.emplace_back(i, shape);
    }
    return list;
  };
  const auto expected = shapes(classes.front().program);
  for (const RankClass& one : classes) {
    const auto found = shapes(one.program);
    for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
      const bool same = i < found.size() && i < expected.size() &&
                        found[i].second->elements == expected[i].second->elements &&
                        found[i].second->type == expected[i].second->type;
      if (same) continue;
      const std::string where =
          i < found.size() ? one.program.operations[found[i].first].name() : "its end";
      throw core::RunError(fmt::format("rank {} differs from rank {} in collective {}: {}",
                                       one.ranks.front(), classes.front().ranks.front(), i, where));
    }
  }
}

std::vector<RankClass> classes_of(const Experiment& experiment, const Cluster& cluster) {
  std::vector<RankClass> classes;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> index;
  for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    const auto& slot = cluster.slots[static_cast<std::size_t>(rank)];
    const auto [found, added] =
        index.try_emplace({slot.gpu, experiment.micro_batch_of(rank)}, classes.size());
    if (added) classes.push_back({.gpu = &cluster.gpu_of(rank), .ranks = {}, .program = {}});
    classes[found->second].ranks.push_back(rank);
  }
  for (RankClass& one : classes) {
    one.program = models::lower_training(experiment, one.ranks.front(),
                                         hardware_profiles::capabilities_of(*one.gpu));
  }
  check_collectives(classes);
  return classes;
}

/// Of each operation. The optimizer's walk over all tensors comes before its first operator.
std::vector<core::Time> host_issue_times(const Experiment& experiment,
                                         const models::Program& program) {
  std::vector<core::Time> times;
  times.reserve(program.operations.size());
  const bool ours = experiment.framework.name == core::FrameworkKind::paceline;
  constexpr double launch_us = 3;  // a kernel launch from C++, without a graph
  const models::HostIssueTimes host =
      ours ? models::HostIssueTimes{}
           : models::framework_profile(experiment.framework.version).host_us;
  const double operator_us = experiment.framework.host_us_per_operator.value_or(0.0);
  double tensors_us = host.optimizer_tensor * static_cast<double>(program.parameters.size());
  for (const models::Operation& operation : program.operations) {
    double us = ours ? launch_us * operation.launches : host.forward_operator;
    if (!ours && operation.phase == Phase::backward) us = host.backward_operator;
    if (!ours && operation.phase == Phase::communication) us = host.backward_operator;
    if (!ours && operation.phase == Phase::optimizer) {
      us = host.optimizer_operator + tensors_us;
      tensors_us = 0;
    }
    if (operator_us > 0 && operation.phase != Phase::optimizer) us = operator_us;
    times.push_back(time_of_us(us, "host issue"));
  }
  return times;
}

/// Images from pinned host memory; synthetic ones lie on the device.
core::Time batch_copy(const Experiment& experiment, const Gpu& gpu,
                      const models::Operation& operation) {
  if (experiment.training.dataset.name == "synthetic") return {};
  constexpr double efficiency = 0.88;  // measured on PCIe 5.0 ×16: 55 of 63 GB/s
  constexpr double giga = 1e9;
  return core::transfer_time(operation.bytes_written,
                             core::ByteRate(gpu.pcie.bandwidth_gb_per_s() * giga * efficiency));
}

GpuRankClass costed(const Experiment& experiment, const RankClass& what,
                    const CollectiveModel* collectives) {
  GpuRankClass result{.program = &what.program,
                      .operations = {},
                      .represents = static_cast<std::int64_t>(what.ranks.size())};
  const GpuKernelCost kernels(*what.gpu);
  std::map<std::pair<core::CollectiveKind, std::int64_t>, core::Time> known;
  std::uint32_t next_collective = 0;
  const std::vector<core::Time> issue = host_issue_times(experiment, what.program);
  result.operations.reserve(what.program.operations.size());
  for (const models::Operation& operation : what.program.operations) {
    GpuOperation& one = result.operations.emplace_back();
    one.host_issue = issue[result.operations.size() - 1];
    one.stream = operation.stream;
    one.phase = timeline_phase(operation.phase);
    if (const auto* shape = std::get_if<models::CollectiveShape>(&operation.shape)) {
      const core::Bytes bytes = payload_of(*shape);
      const auto [found, added] =
          known.try_emplace({core::CollectiveKind::all_reduce, bytes.value()});
      if (added && collectives != nullptr) {
        found->second = collectives->estimate(core::CollectiveKind::all_reduce, bytes).time;
      }
      one.duration = found->second;
      one.collective = next_collective++;
    } else if (operation.kind == OperationKind::load_batch) {
      one.phase = TimelinePhase::copy_wait;
      one.duration = batch_copy(experiment, *what.gpu, operation);
    } else {
      one.duration = kernels.time_of(operation);
    }
  }
  return result;
}

core::Report start_report(const Experiment& experiment, const Cluster& cluster,
                          const std::vector<RankClass>& classes) {
  core::Report report;
  report.kind = core::ReportKind::predicted;
  report.identity.version = PACELINE_VERSION;
  report.identity.experiment_hash = experiment.hash();
  report.identity.profile_hash = cluster.hash;
  for (const RankClass& one : classes) report.identity.program_hashes.push_back(one.program.hash());
  report.model = experiment.model.id;
  report.framework = experiment.framework.title();
  if (experiment.framework.name == core::FrameworkKind::pytorch_ddp &&
      !experiment.framework.version) {
    report.framework += " " + models::framework_profile({}).version;
  }
  report.world_size = experiment.parallel.world_size;
  report.global_batch = experiment.global_batch();
  report.accumulation_steps = experiment.training.accumulation_steps;
  report.overlap = experiment.parallel.overlap;
  return report;
}

void add_classes(const Experiment& experiment, const std::vector<RankClass>& classes,
                 const std::vector<MemoryFit>& memory, core::Report& report) {
  for (std::size_t i = 0; i < classes.size(); ++i) {
    core::RankReport& entry = report.ranks.emplace_back();
    entry.rank = classes[i].ranks.front();
    entry.device = classes[i].gpu->id;
    entry.micro_batch = experiment.micro_batch_of(entry.rank);
    entry.represents = static_cast<int>(classes[i].ranks.size());
    entry.peak_memory_total = memory[i].total;
    entry.peak_memory = memory[i].at_peak;
    entry.not_counted = {"evaluation", "EMA copy", "fragmentation of the allocator"};
    if (classes.size() > 1 || experiment.parallel.world_size > 1) {
      entry.not_counted.emplace_back("NCCL's buffers");
    }
    entry.memory_capacity = memory[i].capacity;
    entry.largest_micro_batch = largest_micro_batch_on(experiment, entry.rank, *classes[i].gpu);
    report.counted_work.push_back(counted_work(classes[i].program));
  }
  report.gradient_bytes_on_wire = gradient_bytes(classes.front().program);
}

bool decide_fit(const Experiment& experiment, const std::vector<RankClass>& classes,
                const std::vector<MemoryFit>& memory, core::Report& report) {
  const auto worst =
      std::max_element(memory.begin(), memory.end(), [](const MemoryFit& a, const MemoryFit& b) {
        return a.total - a.capacity < b.total - b.capacity;
      });
  report.fits = worst->fits();
  if (report.fits) return true;
  const RankClass& one = classes[static_cast<std::size_t>(worst - memory.begin())];
  report.bottleneck =
      memory_bottleneck(one.ranks.front(), one.gpu->name, *worst,
                        largest_micro_batch_on(experiment, one.ranks.front(), *one.gpu));
  return false;
}

void add_collectives(const std::vector<RankClass>& classes, const CollectiveModel* model,
                     const GpuSimulationResult& result, core::Report& report) {
  std::uint32_t next = 0;
  for (const models::Operation& operation : classes.front().program.operations) {
    const auto* shape = std::get_if<models::CollectiveShape>(&operation.shape);
    if (shape == nullptr) continue;
    const GpuCollectiveResult& timed = result.collectives[next++];
    const auto estimate = model->estimate(core::CollectiveKind::all_reduce, payload_of(*shape));
    core::CollectiveReport& entry = report.collectives.emplace_back();
    entry.id = operation.name();
    entry.kind = core::spelling(operation.kind);
    entry.bytes = payload_of(*shape);
    entry.algorithm = core::spelling(estimate.algorithm);
    entry.protocol = core::spelling(estimate.protocol);
    entry.ranks = static_cast<int>(report.world_size);
    entry.time_us = (timed.end - timed.last_arrival).us();
    if (entry.time_us <= 0) continue;
    entry.algbw_gb_per_s = static_cast<double>(entry.bytes.value()) / entry.time_us * 1e-3;
    entry.busbw_gb_per_s = entry.algbw_gb_per_s * 2.0 * (entry.ranks - 1) / entry.ranks;
  }
}

void add_operations(const RankClass& first, const GpuClassResult& result, core::Report& report) {
  for (std::size_t i = 0; i < first.program.operations.size(); ++i) {
    const models::Operation& operation = first.program.operations[i];
    const double us = (result.operations[i].end - result.operations[i].begin).us();
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

StepLoad step_load(const Experiment& experiment, const Cluster& cluster,
                   const std::vector<RankClass>& classes, const std::vector<GpuRankClass>& costs,
                   const GpuSimulationResult& result) {
  StepLoad load{
      .step = result.step_time,
      .ranks = {},
      .reach = reach_of(cluster, static_cast<std::size_t>(experiment.parallel.world_size)),
      .gradient_bytes = gradient_bytes(classes.front().program),
      .interval_90_us = {}};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    RankLoad entry{.device_name = classes[i].gpu->name,
                   .micro_batch = experiment.micro_batch_of(classes[i].ranks.front()),
                   .phases = result.classes[i].phases,
                   .products = {},
                   .other_kernels = {}};
    for (std::size_t k = 0; k < costs[i].operations.size(); ++k) {
      const GpuOperation& one = costs[i].operations[k];
      const models::Operation& operation = classes[i].program.operations[k];
      if (one.collective != no_gpu_collective || operation.phase == Phase::data) continue;
      (operation.flops > core::Flops{} ? entry.products : entry.other_kernels) += one.duration;
    }
    entry.operators = static_cast<std::int64_t>(costs[i].operations.size());
    entry.host_busy = result.classes[i].host_busy;
    load.ranks.push_back(std::move(entry));
  }
  return load;
}

/// Nothing was measured on this card: how far public measurements lie from such predictions.
constexpr double datasheet_sigma = 0.16;

/// The step if the host issued operators at another speed.
core::Time step_with_host(std::vector<GpuRankClass> costs, double factor) {
  for (GpuRankClass& one : costs) {
    for (GpuOperation& operation : one.operations) {
      operation.host_issue = core::Time::from_ps(static_cast<std::int64_t>(
          std::llround(static_cast<double>(operation.host_issue.ps()) * factor)));
    }
  }
  return simulate_gpu_steps(costs).step_time;
}

/// The step if all links of the cluster were so many times as fast.
core::Time step_with_links(const Experiment& experiment, const Cluster& cluster,
                           const std::vector<RankClass>& classes, double factor) {
  Cluster changed = cluster;
  for (hardware_profiles::Link& link : changed.links) {
    link.bandwidth = core::ByteRate(link.bandwidth.value() * factor);
  }
  std::vector<int> all(static_cast<std::size_t>(experiment.parallel.world_size));
  std::iota(all.begin(), all.end(), 0);
  const CollectiveModel model(changed, all);
  std::vector<GpuRankClass> costs;
  costs.reserve(classes.size());
  for (const RankClass& one : classes) costs.push_back(costed(experiment, one, &model));
  return simulate_gpu_steps(costs).step_time;
}

/// What the user did not say and the prediction took, the one that moves the step most first.
class AssumptionList {
 public:
  AssumptionList(const Experiment& experiment, core::Report& report)
      : experiment_(experiment), report_(report) {}

  void add(std::string key, std::string value, std::string origin, core::Time low = {},
           core::Time high = {}) {
    report_.assumptions.push_back({.key = std::move(key),
                                   .value = std::move(value),
                                   .origin = std::move(origin),
                                   .step_time_us_low = std::min(low, high).us(),
                                   .step_time_us_high = std::max(low, high).us()});
  }
  /// A key of the experiment, unless it was given.
  void add_default(const std::string& pointer, const std::string& key, std::string value) {
    if (!experiment_.gives(pointer)) add(key, std::move(value), "default");
  }
  void sort() {
    std::stable_sort(report_.assumptions.begin(), report_.assumptions.end(),
                     [](const core::Assumption& a, const core::Assumption& b) {
                       return a.step_time_us_high - a.step_time_us_low >
                              b.step_time_us_high - b.step_time_us_low;
                     });
  }

 private:
  const Experiment& experiment_;
  core::Report& report_;
};

void add_framework_assumptions(const Experiment& experiment, AssumptionList& list) {
  const auto& profile = models::framework_profile(experiment.framework.version);
  const bool by_name_only = experiment.gives("/framework") && !experiment.gives("/framework/name");
  if (!by_name_only) list.add_default("/framework", "framework", "pytorch_ddp");
  list.add_default("/framework/version", "framework.version", profile.version);
  list.add_default("/framework/optimizer_kernels", "framework.optimizer_kernels",
                   std::string(core::spelling(profile.optimizer_kernels)));
  list.add_default("/framework/fused_attention", "framework.fused_attention",
                   profile.fused_attention ? "true" : "false");
}

void add_assumptions(const Experiment& experiment, const Cluster& cluster,
                     const std::vector<RankClass>& classes, const std::vector<GpuRankClass>& costs,
                     const GpuSimulationResult& result, core::Report& report) {
  AssumptionList list(experiment, report);
  if (experiment.framework.name == core::FrameworkKind::pytorch_ddp) {
    add_framework_assumptions(experiment, list);
    if (!experiment.framework.host_us_per_operator) {
      constexpr double fastest_host = 0.4;
      constexpr double slowest_host = 1.8;  // up to 35 µs an operator were seen
      const auto& host = models::framework_profile(experiment.framework.version).host_us;
      list.add("framework.host_us_per_operator",
               fmt::format("{:g} µs to issue an operator", host.forward_operator), "framework file",
               step_with_host(costs, fastest_host), step_with_host(costs, slowest_host));
    }
  }
  list.add_default("/training/precision", "training.precision",
                   std::string(core::spelling(experiment.training.precision)));
  list.add_default("/training/optimizer", "training.optimizer",
                   std::string(core::spelling(experiment.training.optimizer)));
  list.add_default("/training/dataset", "training.dataset",
                   "synthetic: images lie on the GPU, nothing is loaded");
  if (!experiment.cluster.devices.empty() && experiment.parallel.world_size > 1) {
    constexpr double half = 0.5;
    list.add("cluster", "links of the node file " + cluster.node(0).id, "default node",
             step_with_links(experiment, cluster, classes, 2.0),
             step_with_links(experiment, cluster, classes, half));
  }
  if (!result.periodic) {
    list.add("steady_state",
             fmt::format("mean of {} steps, which have no fixed period", result.steps - 1),
             "simulation", result.shortest_period, result.longest_period);
  }
  list.sort();
}

void add_mfu(const Experiment& experiment, const std::vector<RankClass>& classes, core::Time step,
             core::Report& report) {
  const core::DataType type = core::compute_type(experiment.training.precision);
  double peak = 0;
  for (const RankClass& one : classes) {
    peak += GpuKernelCost(*one.gpu).peak_flop_per_s(type) * static_cast<double>(one.ranks.size());
  }
  const auto forward =
      static_cast<double>(models::forward_flops(experiment.model, report.global_batch).value());
  if (peak > 0) report.mfu["dense_peak"] = 3.0 * forward / step.seconds() / peak;
}

core::Trace trace_of(const std::vector<RankClass>& classes, const GpuSimulationResult& result,
                     std::int64_t world_size) {
  core::Trace trace{.backend = world_size > 1 ? "nccl" : "none",
                    .world_size = static_cast<int>(world_size),
                    .ranks = {},
                    .events = {}};
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const int rank = classes[i].ranks.front();
    trace.ranks.push_back({.rank = rank, .name = classes[i].gpu->name});
    for (std::size_t k = 0; k < classes[i].program.operations.size(); ++k) {
      const models::Operation& operation = classes[i].program.operations[k];
      const GpuSegment& lay = result.classes[i].operations[k];
      trace.events.push_back({.name = operation.name(),
                              .category = core::TraceCategory::kernel,
                              .rank = rank,
                              .stream = operation.stream,
                              .start_us = (lay.begin - result.classes[i].begin).us(),
                              .duration_us = (lay.end - lay.begin).us(),
                              .args = {{"operator", std::string(operation.operator_name)}}});
    }
  }
  return trace;
}

}  // namespace

bool runs_on_gpus(const Experiment& experiment, const Cluster& cluster) {
  const auto ranks = static_cast<std::size_t>(experiment.parallel.world_size);
  if (ranks > cluster.slots.size()) return false;  // the caller's check says so
  std::size_t gpus = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) gpus += cluster.slots[rank].gpu.empty() ? 0 : 1;
  if (gpus == 0) return false;
  if (gpus == ranks) return true;
  throw core::ConfigError(cluster_file(cluster), "/nodes",
                          fmt::format("the job's {} ranks lie on {} GPUs and {} CPU slots (one job "
                                      "runs on one kind: change parallel/world_size or the nodes)",
                                      ranks, gpus, ranks - gpus));
}

MemoryFit gpu_memory_fit(const models::Program& program, const Gpu& gpu,
                         core::Bytes allocation_granularity) {
  constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;
  const models::PeakMemory peak = models::peak_memory(program, allocation_granularity);
  MemoryFit fit{.total = peak.total,
                .at_peak = peak.by_category,
                .peak_operation = {},
                .capacity = core::Bytes(
                    static_cast<std::int64_t>(std::floor(gpu.memory_gib.value * bytes_per_gib)))};
  fit.at_peak[core::MemoryCategory::workspace] += workspace_of(gpu);
  fit.at_peak[core::MemoryCategory::context] += core::mib(context_mib);
  fit.total = fit.total + workspace_of(gpu) + core::mib(context_mib);
  if (peak.peak_operation < program.operations.size()) {
    fit.peak_operation = program.operations[peak.peak_operation].name();
  }
  return fit;
}

namespace {

core::Bytes granularity(const Experiment& experiment) {
  if (experiment.framework.name == core::FrameworkKind::paceline) {
    return core::Bytes(models::memory_plan_alignment);
  }
  return core::Bytes(
      models::framework_profile(experiment.framework.version).allocation_granularity_bytes);
}

}  // namespace

std::int64_t largest_micro_batch_on(const Experiment& experiment, int rank, const Gpu& gpu) {
  const auto capabilities = hardware_profiles::capabilities_of(gpu);
  // Memory of a micro-step grows almost linearly with its images: two points aim at the answer,
  // bisection between what fits and what does not proves it.
  const auto over = [&](std::int64_t images) {
    Experiment changed = experiment;
    const auto world = static_cast<std::size_t>(experiment.parallel.world_size);
    changed.training.micro_batch.resize(world, experiment.training.micro_batch.front());
    changed.training.micro_batch[static_cast<std::size_t>(rank)] = images;
    const MemoryFit fit = gpu_memory_fit(models::lower_training(changed, rank, capabilities), gpu,
                                         granularity(changed));
    return (fit.total - fit.capacity).value();
  };
  constexpr std::int64_t most = 1 << 17;
  std::int64_t fitting = 0;
  std::int64_t too_many = most;
  std::int64_t tried = std::clamp<std::int64_t>(experiment.micro_batch_of(rank), 1, most / 2);
  std::int64_t low = 1;
  std::int64_t low_over = over(1);
  if (low_over > 0) return 0;
  fitting = 1;
  if (tried == 1) tried = 64;
  while (too_many - fitting > 1) {
    const std::int64_t at = over(tried);
    (at <= 0 ? fitting : too_many) = tried;
    if (tried != low && at != low_over) {
      const double slope = static_cast<double>(at - low_over) / static_cast<double>(tried - low);
      const double aim = static_cast<double>(tried) - static_cast<double>(at) / slope;
      low = tried;
      low_over = at;
      tried = std::isfinite(aim) ? static_cast<std::int64_t>(std::floor(aim)) : most;
    }
    if (tried <= fitting) tried = fitting + 1;
    if (tried >= too_many) tried = too_many - 1;
  }
  return fitting;
}

Prediction predict_on_gpus(const Experiment& experiment, const Cluster& cluster, bool with_trace) {
  const std::vector<RankClass> classes = classes_of(experiment, cluster);
  Prediction prediction;
  core::Report& report = prediction.report;
  report = start_report(experiment, cluster, classes);
  std::vector<MemoryFit> memory;
  memory.reserve(classes.size());
  for (const RankClass& one : classes) {
    memory.push_back(gpu_memory_fit(one.program, *one.gpu, granularity(experiment)));
  }
  add_classes(experiment, classes, memory, report);
  if (!decide_fit(experiment, classes, memory, report)) return prediction;

  std::vector<int> all(static_cast<std::size_t>(experiment.parallel.world_size));
  std::iota(all.begin(), all.end(), 0);
  std::optional<CollectiveModel> collectives;
  if (all.size() > 1) collectives.emplace(cluster, all);
  const CollectiveModel* model = collectives ? &*collectives : nullptr;
  std::vector<GpuRankClass> costs;
  costs.reserve(classes.size());
  for (const RankClass& one : classes) costs.push_back(costed(experiment, one, model));
  const GpuSimulationResult result = simulate_gpu_steps(costs);

  const core::StepTime step = step_with_intervals(result.step_time, datasheet_sigma);
  report.step_time_us = step;
  report.first_step_us = result.first_step.us();
  add_headline(experiment, result.step_time, report);
  add_mfu(experiment, classes, result.step_time, report);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    for (std::size_t k = 0; k < core::count_of<TimelinePhase>; ++k) {
      const auto phase = static_cast<TimelinePhase>(k);
      report.ranks[i].phases_us[phase] = result.classes[i].phases[phase].us();
    }
  }
  if (model != nullptr) add_collectives(classes, model, result, report);
  add_operations(classes.front(), result.classes.front(), report);
  add_assumptions(experiment, cluster, classes, costs, result, report);
  StepLoad load = step_load(experiment, cluster, classes, costs, result);
  load.interval_90_us = step.interval_90.value_or(std::vector<double>{});
  report.bottleneck = bottleneck_of(load);
  if (with_trace) prediction.trace = trace_of(classes, result, report.world_size);
  return prediction;
}

}  // namespace paceline::sim
