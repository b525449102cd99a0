#pragma once

#include "hardware_profiles/capabilities.hpp"
#include "models/lowering/draft.hpp"

namespace paceline::models {

/// Throws `core::ConfigError` if the device multiplies no operands of the experiment's precision.
void check_cuda_precision(const Experiment& experiment,
                          const hardware_profiles::DeviceCapabilities& capabilities);

/// What our CUDA kernels do at once: attention keeps one logarithm of a sum a row instead of all
/// probabilities; the gradient of the activation makes the bias gradient of the layer before.
/// Expects all operations.
void pass_fuse(Draft& draft);

/// Types of tensors and products by the experiment's precision. With 16 bits: activations between
/// products are 16-bit, the stream of residuals, statistics and the loss fp32. amp_*: parameters,
/// gradients and moments are fp32, each bucket of parameters is cast once a step. *_master: the
/// model's parameters and gradients are 16-bit, a fp32 master copy stands beside the moments.
/// Expects `pass_fuse`.
void pass_precision(Draft& draft);

}  // namespace paceline::models
