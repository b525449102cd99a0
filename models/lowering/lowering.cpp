#include "models/lowering/lowering.hpp"

#include "core/error.hpp"
#include "core/rates.hpp"
#include "models/framework_profile.hpp"
#include "models/lowering/cuda.hpp"
#include "models/lowering/draft.hpp"
#include "models/lowering/pytorch.hpp"

namespace paceline::models {

namespace {

using hardware_profiles::DeviceCapabilities;

void lower_micro_steps(Draft& draft, std::int64_t images) {
  const int micro_steps = static_cast<int>(draft.experiment.training.accumulation_steps);
  for (int micro_step = 0; micro_step < micro_steps; ++micro_step) {
    const SavedForward saved = canonical_forward(draft, micro_step, images);
    canonical_backward(draft, micro_step, images, saved);
  }
}

Program lower_paceline_cuda(const Experiment& experiment, int rank,
                            const DeviceCapabilities& capabilities) {
  const std::int64_t images = experiment.micro_batch_of(rank);
  check_cuda_precision(experiment, capabilities);
  Draft draft = start_draft(experiment, rank, images, true);
  draft.program.interpreter = "paceline_cuda";
  lower_micro_steps(draft, images);
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
  lower_micro_steps(draft, images);
  pass_bucket(draft);
  pass_communicate(draft);
  pass_clip(draft);
  pass_optimize(draft);
  pass_count_work(draft);
  pass_depend(draft);
  return std::move(draft.program);
}

bool equal_batches(const Experiment& experiment) {
  for (int rank = 1; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    if (experiment.micro_batch_of(rank) != experiment.micro_batch_of(0)) return false;
  }
  return true;
}

constexpr int flash_attention_capability = 80;

PytorchRules pytorch_rules(const Experiment& experiment, const DeviceCapabilities& capabilities) {
  const Framework& framework = experiment.framework;
  const FrameworkProfile& profile = framework_profile(framework.version);
  const Training& training = experiment.training;
  if (core::has_master_weights(training.precision)) {
    throw core::ConfigError(
        "experiment", "/training/precision",
        "got \"" + std::string(core::spelling(training.precision)) +
            "\" (pytorch_ddp trains fp32 weights: use amp_fp16 or amp_bf16)");
  }
  PytorchRules rules;
  rules.precision = training.precision;
  rules.autocast = core::is_autocast(training.precision);
  rules.loss_scaling = training.precision == core::Precision::amp_fp16;
  rules.scales_loss = rules.loss_scaling || training.accumulation_steps > 1 ||
                      !equal_batches(experiment);
  const bool has_half_kernels = !rules.autocast || training.precision == core::Precision::amp_fp16 ||
                                capabilities.compute_capability >= flash_attention_capability;
  rules.fused_attention =
      framework.fused_attention.value_or(profile.fused_attention) && has_half_kernels;
  const bool flash =
      rules.autocast && capabilities.compute_capability >= flash_attention_capability;
  rules.attention_forward = flash ? "aten._scaled_dot_product_flash_attention.default"
                                  : "aten._scaled_dot_product_efficient_attention.default";
  rules.attention_backward = flash
                                 ? "aten._scaled_dot_product_flash_attention_backward.default"
                                 : "aten._scaled_dot_product_efficient_attention_backward.default";
  rules.pads_logsumexp = !flash;
  rules.no_sync = framework.no_sync;
  rules.optimizer_kernels = framework.optimizer_kernels.value_or(profile.optimizer_kernels);
  const bool default_buckets = experiment.parallel.bucket_mib == profile.bucket_mib;
  rules.bucket = core::mib(experiment.parallel.bucket_mib);
  rules.first_bucket = default_buckets ? core::mib(profile.first_bucket_mib) : rules.bucket;
  return rules;
}

Program lower_pytorch(const Experiment& experiment, int rank,
                      const DeviceCapabilities& capabilities) {
  const std::int64_t images = experiment.micro_batch_of(rank);
  const PytorchRules rules = pytorch_rules(experiment, capabilities);
  Draft canonical = start_draft(experiment, rank, images, true);
  lower_micro_steps(canonical, images);
  Draft draft = start_draft(experiment, rank, images, false);
  draft.program.interpreter = "pytorch_" + framework_profile(experiment.framework.version).version;
  draft.program.gradients.resize(draft.specs.size());
  translate_to_pytorch(canonical, draft, rules);
  pass_ddp(draft, rules, experiment.parallel.overlap);
  pass_pytorch_optimizer(draft, rules);
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
      return lower_pytorch(experiment, rank, capabilities);
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
