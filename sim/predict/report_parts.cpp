#include "sim/predict/report_parts.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "models/architecture.hpp"
#include "sim/predict/epoch.hpp"

namespace paceline::sim {

using hardware_profiles::Cluster;
using models::Experiment;

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

Reach reach_of(const Cluster& cluster, std::size_t ranks) {
  if (ranks == 1) return Reach::one_rank;
  const auto& slots = cluster.slots;
  const bool one_node = std::all_of(
      slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(ranks),
      [&](const hardware_profiles::Slot& slot) { return slot.node == slots.front().node; });
  return one_node ? Reach::one_node : Reach::several_nodes;
}

namespace {

/// The micro-batch that is given for a device, by id, alias or name.
const std::int64_t* given_for(const Experiment& experiment, const Cluster& cluster, int rank,
                              std::set<std::string>& used) {
  const auto& slot = cluster.slots[static_cast<std::size_t>(rank)];
  for (const auto& [name, images] : experiment.training.micro_batch_by_device) {
    bool fits = name == slot.device || name == slot.gpu;
    if (!slot.gpu.empty()) {
      const auto& gpu = cluster.gpu_of(rank);
      const std::string plain = hardware_profiles::plain_name(name);
      fits = fits || plain == gpu.id ||
             std::find(gpu.aliases.begin(), gpu.aliases.end(), plain) != gpu.aliases.end();
    }
    if (!fits) continue;
    used.insert(name);
    return &images;
  }
  return nullptr;
}

}  // namespace

Experiment settled_on(const Experiment& experiment, const Cluster& cluster) {
  if (experiment.training.micro_batch_by_device.empty()) return experiment;
  Experiment settled = experiment;
  settled.training.micro_batch.clear();
  const auto ranks =
      std::min(static_cast<std::size_t>(experiment.parallel.world_size), cluster.slots.size());
  std::vector<core::Fault> faults;
  std::set<std::string> used;
  std::set<std::string> lacking;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto* images = given_for(experiment, cluster, static_cast<int>(rank), used);
    const auto& slot = cluster.slots[rank];
    const std::string& device = slot.gpu.empty() ? slot.device : slot.gpu;
    if (images == nullptr && lacking.insert(device).second) {
      std::string problem = "rank " + std::to_string(rank);
      problem.append(" runs on a ").append(device);
      problem.append(", for which no micro-batch is given (add \"").append(device).append("\")");
      faults.push_back({"experiment", "/training/micro_batch", problem});
    }
    settled.training.micro_batch.push_back(images != nullptr ? *images : 1);
  }
  for (const auto& [name, images] : experiment.training.micro_batch_by_device) {
    if (used.contains(name)) continue;
    faults.push_back({"experiment", "/training/micro_batch/" + name,
                      "no rank of the job runs on a " + name + " (take it out)"});
  }
  if (!faults.empty()) throw core::ConfigError(std::move(faults));
  settled.training.micro_batch_by_device.clear();
  return settled;
}

}  // namespace paceline::sim
