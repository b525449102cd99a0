#pragma once

#include <cstdint>
#include <string_view>

#include "core/quantity.hpp"
#include "core/vocabulary.hpp"
#include "hardware_profiles/capabilities.hpp"
#include "models/lowering/draft.hpp"
#include "models/optimizer_kernels.hpp"

namespace paceline::models {

/// How PyTorch runs one experiment on one kind of device.
struct PytorchRules {
  core::Precision precision = core::Precision::fp32;
  bool autocast = false;
  bool loss_scaling = false;  // GradScaler
  bool scales_loss = false;   // by accumulation, unequal ranks or the loss scale
  /// Where PyTorch dispatches to: autocast and attention differ between CUDA and its own CPU
  /// kernels. Only CUDA is predicted; the CPU's lists are what can be recorded anywhere.
  enum class Backend : std::uint8_t { cuda, cpu };
  Backend backend = Backend::cuda;
  bool fused_attention = true;
  /// Operators of the fused attention kernel.
  std::string_view attention_forward, attention_backward;
  bool pads_logsumexp = false;
  bool no_sync = true;
  OptimizerKernels optimizer_kernels = OptimizerKernels::foreach;
  core::Bytes first_bucket;
  core::Bytes bucket;
};

/// The step of one rank by these rules.
[[nodiscard]] Program lower_pytorch(const Experiment& experiment, int rank,
                                    const PytorchRules& rules);

/// What the experiment's framework does on a device that can do `capabilities`. Throws
/// `core::ConfigError` if it cannot run the experiment there.
[[nodiscard]] PytorchRules pytorch_rules(const Experiment& experiment,
                                         const hardware_profiles::DeviceCapabilities& capabilities);

/// Writes the canonical operations of all micro-steps (model and loss, forward and backward) into
/// `result` as PyTorch's operators. `result` is a fresh draft of the same experiment; afterwards
/// its gradients are those that autograd keeps.
void translate_to_pytorch(Draft& canonical, Draft& result, const PytorchRules& rules);

/// DistributedDataParallel: each gradient is copied into its bucket, divided by the number of
/// ranks; a complete bucket is reduced; after the last one every gradient is copied back. Nothing
/// for one rank. Source: torch/csrc/distributed/c10d/reducer.cpp. Expects the translation.
void pass_ddp(Draft& draft, const PytorchRules& rules, bool overlap);

/// Loss scaling's check, clipping, the optimizer's kernels. Expects `pass_ddp`.
void pass_pytorch_optimizer(Draft& draft, const PytorchRules& rules);

}  // namespace paceline::models
