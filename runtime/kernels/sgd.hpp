#pragma once

#include <span>

#include "models/program.hpp"
#include "runtime/kernels/operands.hpp"

namespace paceline::runtime::kernels {

struct SgdSettings {
  double learning_rate = 1e-3;
  double momentum = 0.9;
  double weight_decay = 0;
};

/// Stochastic gradient descent as torch.optim.SGD computes it without dampening and Nesterov, in
/// place. With g the gradient: g += weight_decay · p; v = momentum · v + g; p -= learning_rate · v.
/// The velocity starts at zero, so that v = g in the first step. Without momentum `velocity` is
/// empty and p -= learning_rate · g.
template <class Scalar>
void sgd(const models::ElementsShape& shape, const SgdSettings& settings,
         std::span<const Scalar> gradients, std::span<Scalar> parameters,
         std::span<Scalar> velocity, models::WorkCount& count);

}  // namespace paceline::runtime::kernels
