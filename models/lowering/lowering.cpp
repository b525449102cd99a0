#include "models/lowering/lowering.hpp"

#include "core/error.hpp"
#include "models/lowering/cuda.hpp"
#include "models/lowering/draft.hpp"
#include "models/lowering/pytorch.hpp"

namespace paceline::models {

namespace {

using hardware_profiles::DeviceCapabilities;

Program lower_paceline_cuda(const Experiment& experiment, int rank,
                            const DeviceCapabilities& capabilities) {
  const std::int64_t images = experiment.micro_batch_of(rank);
  check_cuda_precision(experiment, capabilities);
  Draft draft = start_draft(experiment, rank, images, true);
  draft.program.interpreter = "paceline_cuda";
  canonical_micro_steps(draft, images);
  pass_bucket(draft);
  pass_communicate(draft);
  pass_clip(draft);
  pass_optimize(draft);
  pass_fuse(draft);
  pass_precision(draft);
  pass_count_work(draft);
  pass_depend(draft);
  return std::move(draft.program);
}

Program lower_paceline_cpu(const Experiment& experiment, int rank) {
  const std::int64_t images = experiment.micro_batch_of(rank);
  Draft draft = start_draft(experiment, rank, images, true);
  canonical_micro_steps(draft, images);
  pass_bucket(draft);
  pass_communicate(draft);
  pass_clip(draft);
  pass_optimize(draft);
  pass_count_work(draft);
  pass_depend(draft);
  return std::move(draft.program);
}

}  // namespace

Program lower_training(const Experiment& experiment, int rank,
                       const DeviceCapabilities& capabilities) {
  if (rank < 0 || rank >= experiment.parallel.world_size) {
    throw core::InvariantError("rank " + std::to_string(rank) + " is not in a world of " +
                               std::to_string(experiment.parallel.world_size));
  }
  if (capabilities.kind == DeviceCapabilities::Kind::cpu_rank) {
    return lower_paceline_cpu(experiment, rank);
  }
  switch (experiment.framework.name) {
    case core::FrameworkKind::pytorch_ddp:
      return lower_pytorch(experiment, rank, pytorch_rules(experiment, capabilities));
    case core::FrameworkKind::paceline:
      return lower_paceline_cuda(experiment, rank, capabilities);
  }
  throw core::InvariantError("a framework without a lowering");
}

namespace {

/// The order in which a training step completes gradients, which is how parameters are stored.
std::vector<std::size_t> ready_order(const Experiment& experiment) {
  Draft draft = start_draft(experiment, 0, 1, true);
  const SavedForward saved = canonical_forward(draft, 0, 1);
  canonical_backward(draft, 0, 1, saved);
  return draft.ready_order;
}

}  // namespace

Program lower_evaluation(const Experiment& experiment, std::int64_t images) {
  Draft draft = start_draft(experiment, 0, images, false);
  draft.program.world_size = 1;
  draft.program.accumulation_steps = 1;
  draft.program.global_batch = images;
  draft.ready_order = ready_order(experiment);
  canonical_forward(draft, 0, images);
  pass_bucket(draft);
  pass_count_work(draft);
  pass_depend(draft);
  return std::move(draft.program);
}

}  // namespace paceline::models
