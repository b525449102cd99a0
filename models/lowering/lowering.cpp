#include "models/lowering/lowering.hpp"

#include "core/error.hpp"
#include "models/lowering/draft.hpp"

namespace paceline::models {

Program lower_training(const Experiment& experiment, int rank) {
  if (rank < 0 || rank >= experiment.parallel.world_size) {
    throw core::InvariantError("rank " + std::to_string(rank) + " is not in a world of " +
                               std::to_string(experiment.parallel.world_size));
  }
  const std::int64_t images = experiment.micro_batch_of(rank);
  Draft draft = start_draft(experiment, rank, images, true);
  const int micro_steps = static_cast<int>(experiment.training.accumulation_steps);
  for (int micro_step = 0; micro_step < micro_steps; ++micro_step) {
    const SavedForward saved = canonical_forward(draft, micro_step, images);
    canonical_backward(draft, micro_step, images, saved);
  }
  pass_bucket(draft);
  pass_communicate(draft);
  pass_optimize(draft);
  pass_count_work(draft);
  pass_depend(draft);
  return std::move(draft.program);
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
