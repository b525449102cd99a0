#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

/// The words of Paceline: one enum and one spelling each, for files, tables and code.
namespace paceline::core {

/// The spellings of an enum, in order of its enumerators; specialised once for each.
template <class Enum>
struct Spelling;

enum class DataType : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp64, int32, uint8, int64 };
template <>
struct Spelling<DataType> {
  static constexpr std::array words{"fp32", "tf32",  "fp16",  "bf16", "fp8",
                                    "fp64", "int32", "uint8", "int64"};
};
[[nodiscard]] constexpr std::int64_t bytes_per_element(DataType type) {
  switch (type) {
    case DataType::fp64:
    case DataType::int64:
      return 8;
    case DataType::fp32:
    case DataType::tf32:
    case DataType::int32:
      return 4;
    case DataType::fp16:
    case DataType::bf16:
      return 2;
    case DataType::fp8:
    case DataType::uint8:
      return 1;
  }
  return 0;
}

/// Arithmetic and storage of training; what each means stands in docs/glossary.md, "precision".
enum class Precision : std::uint8_t { fp32, tf32, amp_fp16, amp_bf16, fp16_master, bf16_master };
template <>
struct Spelling<Precision> {
  static constexpr std::array words{"fp32",     "tf32",        "amp_fp16",
                                    "amp_bf16", "fp16_master", "bf16_master"};
};
/// Type of matrix products' operands.
[[nodiscard]] constexpr DataType compute_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return DataType::fp32;
    case Precision::tf32:
      return DataType::tf32;
    case Precision::amp_fp16:
    case Precision::fp16_master:
      return DataType::fp16;
    case Precision::amp_bf16:
    case Precision::bf16_master:
      return DataType::bf16;
  }
  return DataType::fp32;
}
/// fp32 weights, cast to 16 bits in each step.
[[nodiscard]] constexpr bool is_autocast(Precision precision) {
  return precision == Precision::amp_fp16 || precision == Precision::amp_bf16;
}
/// 16-bit weights and gradients beside fp32 master weights.
[[nodiscard]] constexpr bool has_master_weights(Precision precision) {
  return precision == Precision::fp16_master || precision == Precision::bf16_master;
}

enum class OptimizerKind : std::uint8_t { adamw, sgd };
template <>
struct Spelling<OptimizerKind> {
  static constexpr std::array words{"adamw", "sgd"};
};

/// full: only each block's input is kept, the block is computed again before its backward pass.
enum class ActivationCheckpointing : std::uint8_t { none, full };
template <>
struct Spelling<ActivationCheckpointing> {
  static constexpr std::array words{"none", "full"};
};

/// The software that trains.
enum class FrameworkKind : std::uint8_t { paceline, pytorch_ddp };
template <>
struct Spelling<FrameworkKind> {
  static constexpr std::array words{"paceline", "pytorch_ddp"};
};

/// Where an operation belongs in the training step.
enum class Phase : std::uint8_t { data, forward, backward, communication, optimizer };
template <>
struct Spelling<Phase> {
  static constexpr std::array words{"data", "forward", "backward", "communication", "optimizer"};
};

/// Each instant of a rank's compute stream belongs to exactly one of these (docs/glossary.md).
enum class TimelinePhase : std::uint8_t {
  forward,
  backward,
  optimizer,
  exposed_communication,
  straggler_wait,
  pipeline_bubble,
  copy_wait,
  data_wait,
  host_bound_idle,
  other
};
template <>
struct Spelling<TimelinePhase> {
  static constexpr std::array words{
      "forward",         "backward",  "optimizer", "exposed_communication", "straggler_wait",
      "pipeline_bubble", "copy_wait", "data_wait", "host_bound_idle",       "other"};
};

/// What an operation computes; `models/program.hpp` states shapes and operands of each.
enum class OperationKind : std::uint8_t {
  load_batch,
  patchify,
  matmul,
  bias_gradient,
  embed_tokens,
  embed_tokens_gradient,
  layer_norm,
  layer_norm_gradient,
  attention,
  attention_gradient,
  gelu,
  gelu_gradient,
  add,
  select_class_token,
  select_class_token_gradient,
  cross_entropy,
  cross_entropy_gradient,
  adamw,
  all_reduce,
  mean_pool,
  mean_pool_gradient,
  // Optimizer beside AdamW, clipping.
  sgd,
  gradient_norm,
  clip_coefficient,
  scale,
  // What frameworks run as kernels of their own.
  cast,
  copy,
  concatenate,
  fill,
  convolution,
  convolution_gradient,
  softmax,
  softmax_gradient,
  log_softmax,
  log_softmax_gradient,
  nll_loss,
  nll_loss_gradient,
  check_finite,
  update_loss_scale,
  count_steps
};
template <>
struct Spelling<OperationKind> {
  static constexpr std::array words{"load_batch",
                                    "patchify",
                                    "matmul",
                                    "bias_gradient",
                                    "embed_tokens",
                                    "embed_tokens_gradient",
                                    "layer_norm",
                                    "layer_norm_gradient",
                                    "attention",
                                    "attention_gradient",
                                    "gelu",
                                    "gelu_gradient",
                                    "add",
                                    "select_class_token",
                                    "select_class_token_gradient",
                                    "cross_entropy",
                                    "cross_entropy_gradient",
                                    "adamw",
                                    "all_reduce",
                                    "mean_pool",
                                    "mean_pool_gradient",
                                    "sgd",
                                    "gradient_norm",
                                    "clip_coefficient",
                                    "scale",
                                    "cast",
                                    "copy",
                                    "concatenate",
                                    "fill",
                                    "convolution",
                                    "convolution_gradient",
                                    "softmax",
                                    "softmax_gradient",
                                    "log_softmax",
                                    "log_softmax_gradient",
                                    "nll_loss",
                                    "nll_loss_gradient",
                                    "check_finite",
                                    "update_loss_scale",
                                    "count_steps"};
};

/// An in-order queue of operations of one rank.
enum class Stream : std::uint8_t { compute, communication };
template <>
struct Spelling<Stream> {
  static constexpr std::array words{"compute", "communication"};
};

enum class MemoryCategory : std::uint8_t {
  parameters,
  gradients,
  optimizer_state,
  activations,
  communication,
  workspace,
  context
};
template <>
struct Spelling<MemoryCategory> {
  static constexpr std::array words{"parameters",    "gradients", "optimizer_state", "activations",
                                    "communication", "workspace", "context"};
};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  point_to_point
};
template <>
struct Spelling<CollectiveKind> {
  static constexpr std::array words{"all_reduce", "reduce_scatter", "all_gather",
                                    "all_to_all", "broadcast",      "point_to_point"};
};

/// `nvls` and `nvls_tree`: reduction and multicast in the NVSwitch, the second between nodes too.
enum class CollectiveAlgorithm : std::uint8_t {
  ring,
  tree,
  recursive_halving_doubling,
  pairwise,
  hierarchical,
  nvls,
  nvls_tree
};
template <>
struct Spelling<CollectiveAlgorithm> {
  static constexpr std::array words{"ring",     "tree",         "recursive_halving_doubling",
                                    "pairwise", "hierarchical", "nvls",
                                    "nvls_tree"};
};

/// How NCCL moves data: flags beside every word (LL), one in 128 bytes (LL128), or none and a
/// fence (Simple).
enum class CollectiveProtocol : std::uint8_t { ll, ll128, simple };
template <>
struct Spelling<CollectiveProtocol> {
  static constexpr std::array words{"ll", "ll128", "simple"};
};

enum class ReportKind : std::uint8_t { predicted, measured };
template <>
struct Spelling<ReportKind> {
  static constexpr std::array words{"predicted", "measured"};
};

/// What holds a step back: the closed list of docs/glossary.md.
enum class Cause : std::uint8_t {
  compute,
  memory_bandwidth,
  host_launch,
  data_loading,
  storage,
  copy_to_gpu,
  intra_node_link,
  network,
  latency,
  slow_device,
  slow_link,
  slow_host,
  optimizer,
  memory_capacity,
  unexplained
};
template <>
struct Spelling<Cause> {
  static constexpr std::array words{
      "compute",     "memory_bandwidth", "host_launch", "data_loading",    "storage",
      "copy_to_gpu", "intra_node_link",  "network",     "latency",         "slow_device",
      "slow_link",   "slow_host",        "optimizer",   "memory_capacity", "unexplained"};
};

/// The exact GELU (with erf) or its tanh approximation.
enum class GeluForm : std::uint8_t { exact, tanh };
template <>
struct Spelling<GeluForm> {
  static constexpr std::array words{"exact", "tanh"};
};

template <class Enum>
[[nodiscard]] constexpr std::string_view spelling(Enum value) {
  return Spelling<Enum>::words.at(static_cast<std::size_t>(value));
}

template <class Enum>
inline constexpr std::size_t count_of = Spelling<Enum>::words.size();

/// A value for each enumerator.
template <class Enum, class T>
class PerEnum {
 public:
  [[nodiscard]] constexpr T& operator[](Enum key) {
    return values_.at(static_cast<std::size_t>(key));
  }
  [[nodiscard]] constexpr const T& operator[](Enum key) const {
    return values_.at(static_cast<std::size_t>(key));
  }
  [[nodiscard]] constexpr auto begin() const { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const { return values_.end(); }
  constexpr bool operator==(const PerEnum&) const = default;

 private:
  std::array<T, count_of<Enum>> values_{};
};

}  // namespace paceline::core
