#pragma once

#include <cstdint>

#include "models/program.hpp"
#include "runtime/training/storage.hpp"

namespace paceline::runtime::kernels {

/// Executes one operation of a Program on its tensors and adds what the kernel counted to
/// `counted`. `optimizer_step` counts from 1. load_batch and all_reduce belong to the interpreter:
/// they throw `core::InvariantError`, as do operands that do not fit the operation's shape.
/// With Scalar = double, bytes are counted as double has them.
template <class Scalar>
void execute(const models::Program& program, const models::Operation& operation,
             Storage<Scalar>& storage, std::int64_t optimizer_step, models::WorkByKind& counted);

}  // namespace paceline::runtime::kernels
