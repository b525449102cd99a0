#include "core/error.hpp"
#include "core/rates.hpp"
#include "models/framework_profile.hpp"
#include "models/lowering/pytorch.hpp"

namespace paceline::models {
namespace {

bool equal_batches(const Experiment& experiment) {
  for (int rank = 1; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    if (experiment.micro_batch_of(rank) != experiment.micro_batch_of(0)) return false;
  }
  return true;
}

constexpr int flash_attention_capability = 80;
constexpr int cudnn_attention_capability = 90;

}  // namespace

PytorchRules pytorch_rules(const Experiment& experiment,
                           const hardware_profiles::DeviceCapabilities& capabilities) {
  const Framework& framework = experiment.framework;
  const FrameworkProfile& profile = framework_profile(framework.version);
  const Training& training = experiment.training;
  if (core::has_master_weights(training.precision)) {
    throw core::ConfigError("experiment", "/training/precision",
                            "got \"" + std::string(core::spelling(training.precision)) +
                                "\" (pytorch_ddp trains fp32 weights: use amp_fp16 or amp_bf16)");
  }
  PytorchRules rules;
  rules.precision = training.precision;
  rules.autocast = core::is_autocast(training.precision);
  rules.loss_scaling = training.precision == core::Precision::amp_fp16;
  rules.scales_loss =
      rules.loss_scaling || training.accumulation_steps > 1 || !equal_batches(experiment);
  const bool has_half_kernels = !rules.autocast ||
                                training.precision == core::Precision::amp_fp16 ||
                                capabilities.compute_capability >= flash_attention_capability;
  rules.fused_attention =
      framework.fused_attention.value_or(profile.fused_attention) && has_half_kernels;
  const bool flash =
      rules.autocast && capabilities.compute_capability >= flash_attention_capability;
  const bool cudnn =
      rules.autocast && capabilities.compute_capability == cudnn_attention_capability;
  if (cudnn) {
    rules.attention_forward = "aten._scaled_dot_product_cudnn_attention.default";
    rules.attention_backward = "aten._scaled_dot_product_cudnn_attention_backward.default";
  } else if (flash) {
    rules.attention_forward = "aten._scaled_dot_product_flash_attention.default";
    rules.attention_backward = "aten._scaled_dot_product_flash_attention_backward.default";
  } else {
    rules.attention_forward = "aten._scaled_dot_product_efficient_attention.default";
    rules.attention_backward = "aten._scaled_dot_product_efficient_attention_backward.default";
  }
  rules.pads_logsumexp = !flash;
  rules.no_sync = framework.no_sync;
  rules.optimizer_kernels = framework.optimizer_kernels.value_or(profile.optimizer_kernels);
  const bool default_buckets = experiment.parallel.bucket_mib == profile.bucket_mib;
  rules.bucket = core::mib(experiment.parallel.bucket_mib);
  rules.first_bucket = default_buckets ? core::mib(profile.first_bucket_mib) : rules.bucket;
  return rules;
}

Program lower_pytorch(const Experiment& experiment, int rank, const PytorchRules& rules) {
  const std::int64_t images = experiment.micro_batch_of(rank);
  Draft canonical = start_draft(experiment, rank, images, true);
  canonical_micro_steps(canonical, images);
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

}  // namespace paceline::models
