#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "models/experiment.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// A Program while passes work on it. `canonical_*` write the operations of the model, the other
/// passes bucket the gradients, add communication and the optimizer, count the work and derive the
/// dependencies. Each pass states what it expects to have run before.
struct Draft {
  const Experiment& experiment;
  Program program{};
  std::vector<ParameterSpec> specs{};
  /// Parameters in the order in which the backward pass completes their gradients.
  std::vector<std::size_t> ready_order{};
  TensorId loss{};
  /// A parameter's gradient is complete before operation `operation` (frameworks' Programs).
  struct GradientDone {
    std::size_t parameter = 0;
    std::size_t operation = 0;
  };
  std::vector<GradientDone> gradient_done{};
  /// Flat storage by bucket, made by `pass_bucket`.
  struct Bucket {
    TensorId parameters{}, gradients{}, first_moment{}, second_moment{};
    std::int64_t elements = 0;
    std::size_t last_parameter = 0;  // completes the bucket
  };
  std::vector<Bucket> buckets{};

  TensorId add_tensor(Tensor tensor) {
    program.tensors.push_back(tensor);
    return TensorId(program.tensors.size() - 1);
  }
  OperationId add_operation(Operation operation) {
    program.operations.push_back(operation);
    return OperationId(program.operations.size() - 1);
  }
};

/// A tensor for each parameter and, for training, each gradient.
[[nodiscard]] Draft start_draft(const Experiment& experiment, int rank, std::int64_t images,
                                bool with_gradients);

/// What the backward pass of a micro-step needs from its forward pass.
struct SavedForward {
  struct Block {
    TensorId input, norm1, norm1_mean, norm1_rstd, qkv, probabilities, attention;
    TensorId middle, norm2, norm2_mean, norm2_rstd, hidden, activated;
  };
  TensorId labels, patches, normalised, norm_mean, norm_rstd, last, class_rows, probabilities;
  std::vector<Block> blocks;
};

/// Forward pass of one micro-step over `images` images, loss included.
SavedForward canonical_forward(Draft& draft, int micro_step, std::int64_t images);

/// Its backward pass; records `ready_order` in the first micro-step; all have the same.
void canonical_backward(Draft& draft, int micro_step, std::int64_t images,
                        const SavedForward& saved);

/// Lays parameters (and, where there are any, gradients and AdamW's moments) into flat buckets of
/// at most `bucket_mib`, in gradient-ready order; a larger parameter has a bucket of its own.
/// Expects the backward pass, or for evaluation a `ready_order` taken from it.
void pass_bucket(Draft& draft);

/// One ring all-reduce a bucket: with overlap on the communication stream, issued when its last
/// gradient is complete; without, on the compute stream after the backward pass. Nothing for one
/// rank. Expects `pass_bucket`.
void pass_communicate(Draft& draft);

/// With a clip norm: the square of each bucket's norm, the coefficient, each bucket scaled. The
/// gradients are complete on every rank by then, so ranks agree without a further exchange.
/// Expects `pass_communicate`.
void pass_clip(Draft& draft);

/// One update a bucket, in bucket order. Expects `pass_clip`.
void pass_optimize(Draft& draft);

/// FLOPs and bytes of every operation. Expects all operations.
void pass_count_work(Draft& draft);

/// What waits for which operation of another stream. Expects all operations.
void pass_depend(Draft& draft);

}  // namespace paceline::models
