#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ids.hpp"
#include "core/quantity.hpp"
#include "core/vocabulary.hpp"
#include "models/architecture.hpp"

/// The Program: what one rank does in one optimizer step. `models/` builds it once; the simulator
/// gives each operation a cost, the runtime gives each operation a kernel, and both report under
/// the same operation names.
namespace paceline::models {

using OperationId = core::OpaqueId<struct Operation>;
using TensorId = core::OpaqueId<struct Tensor>;
using CommunicatorId = core::OpaqueId<struct Communicator>;

enum class Transpose : std::uint8_t { no, yes };

/// C[m,n] = op(A)[m,k] · op(B)[k,n], row-major. With a third input, bias[n] is added to each row.
struct MatmulShape {
  std::int64_t m = 0, n = 0, k = 0;
  Transpose a = Transpose::no, b = Transpose::no;
  std::int64_t batch = 1;  // so many products at once
};
/// A matrix of `rows` × `width`.
struct RowsShape {
  std::int64_t rows = 0, width = 0;
};
/// qkv is [batch, tokens, 3, heads, head_dimension], as timm's fused projection leaves it.
struct AttentionShape {
  std::int64_t batch = 0, heads = 0, tokens = 0, head_dimension = 0;
};
struct ElementsShape {
  std::int64_t elements = 0;
};
/// images[images, channels, image_size, image_size] ↔ patches[images · patches, channels · p · p].
struct PatchShape {
  std::int64_t images = 0, channels = 0, image_size = 0, patch_size = 0;
};
/// [images, tokens, width]
struct TokensShape {
  std::int64_t images = 0, tokens = 0, width = 0;
};
/// `image_weight` multiplies each image's loss: 1 / global batch, so that the *sum* of all ranks'
/// and micro-steps' gradients is the gradient of the mean over the global batch. It equals DDP's
/// average after scaling the local mean loss by W·b_i/B.
struct LossShape {
  std::int64_t images = 0, classes = 0;
  double image_weight = 1.0;
};
/// Members issue their collectives in the order of `sequence`, which counts in the communicator.
struct CollectiveShape {
  CommunicatorId communicator{};
  std::int64_t sequence = 0;
  std::int64_t elements = 0;
  core::DataType type = core::DataType::fp32;
  core::CollectiveAlgorithm algorithm = core::CollectiveAlgorithm::ring;
};

using OperationShape =
    std::variant<std::monostate, MatmulShape, RowsShape, AttentionShape, ElementsShape, PatchShape,
                 TokensShape, LossShape, CollectiveShape>;

/// Up to eight tensors, without allocation.
class TensorList {
 public:
  TensorList() = default;
  TensorList(std::initializer_list<TensorId> ids) {
    for (const TensorId id : ids) push_back(id);
  }
  /// Throws `std::out_of_range` beyond eight.
  void push_back(TensorId id) { ids_.at(size_++) = id; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] TensorId operator[](std::size_t i) const { return ids_.at(i); }
  [[nodiscard]] const TensorId* begin() const { return ids_.data(); }
  [[nodiscard]] const TensorId* end() const { return ids_.data() + size_; }

 private:
  std::array<TensorId, 8> ids_{};
  std::size_t size_ = 0;
};

/// Operands by kind (inputs → outputs); shapes as in the variant member named in brackets.
///
/// | kind | inputs | outputs |
/// |---|---|---|
/// | load_batch [PatchShape] | – | images, labels (int32) |
/// | patchify [PatchShape] | images | patches |
/// | matmul [MatmulShape] | A, B, (bias) | C |
/// | bias_gradient [RowsShape] | dY | db |
/// | embed_tokens [TokensShape] | patch tokens, (cls_token), pos_embed | x |
/// | embed_tokens_gradient [TokensShape] | dx | d patch tokens, (d cls_token), d pos_embed |
/// | layer_norm [RowsShape] | x, weight, bias | y, mean, reciprocal std |
/// | layer_norm_gradient [RowsShape] | dy, x, weight, mean, rstd | dx, d weight, d bias |
/// | attention [AttentionShape] | qkv | out, probabilities[batch, heads, tokens, tokens] |
/// | attention_gradient [AttentionShape] | d out, qkv, probabilities | d qkv, workspace[tokens²] |
/// | gelu [ElementsShape] | h | g |
/// | gelu_gradient [ElementsShape] | dg, h | dh |
/// | add [ElementsShape] | a, b | a + b |
/// | select_class_token [TokensShape] | x | class token rows |
/// | select_class_token_gradient [TokensShape] | d rows | dx, zero elsewhere |
/// | mean_pool [TokensShape] | x | mean over each image's tokens |
/// | mean_pool_gradient [TokensShape] | d rows | dx |
/// | cross_entropy [LossShape] | logits, labels | weighted loss (1), probabilities |
/// | cross_entropy_gradient [LossShape] | probabilities, labels | d logits |
/// | adamw [ElementsShape] | gradients, parameters, m, v | parameters, m, v (in place) |
/// | sgd [ElementsShape] | gradients, parameters, (v) | parameters, (v) (in place) |
/// | gradient_norm [ElementsShape] | gradients | Σ g² (1; summed in fp64) |
/// | clip_coefficient [ElementsShape: addends] | all Σ g² (one flat tensor) | coefficient (1) |
/// | scale [ElementsShape] | values, coefficient | values (in place) |
/// | all_reduce [CollectiveShape] | buffer, receive buffer | buffer (in place, summed) |
///
/// Kinds that only frameworks run as kernels of their own (`operator_name` says what they call):
///
/// | kind | inputs | outputs |
/// |---|---|---|
/// | cast, copy [ElementsShape] | a | a in another type or layout |
/// | concatenate [ElementsShape: of the result] | parts | result |
/// | fill [ElementsShape] | – | constant |
/// | convolution [MatmulShape of the patches] | images, weight, bias | patch tokens |
/// | convolution_gradient [MatmulShape] | d tokens, images, weight | d weight, d bias |
/// | softmax, log_softmax [RowsShape] | x | y |
/// | softmax_gradient, log_softmax_gradient [RowsShape] | dy, y | dx |
/// | nll_loss [LossShape] | log-probabilities, labels | loss, total weight |
/// | nll_loss_gradient [LossShape] | d loss, log-probabilities, labels, total weight | d log-prob.
/// | | check_finite [ElementsShape] | – | gradients unscaled in place, flag | | update_loss_scale,
/// count_steps [ElementsShape] | – | – |
struct Operation {
  core::OperationKind kind{};
  core::Phase phase{};
  core::Stream stream = core::Stream::compute;
  /// Adds to its parameter-gradient (or loss) outputs instead of overwriting them: micro-steps
  /// after the first.
  bool accumulate = false;
  int micro_step = -1;        // -1: once a step
  int layer = -1;             // block, -1 outside the blocks
  int bucket = -1;            // gradient bucket, -1 where none is meant
  std::string_view role{};    // static text, unique with the fields above
  std::string_view suffix{};  // static text after the role
  /// What a framework's dispatcher is asked for ("aten.addmm.default"); static text, empty for
  /// ours.
  std::string_view operator_name{};
  /// Type of the arithmetic of products; of everything else, the type of what it reads most of.
  core::DataType type = core::DataType::fp32;
  /// Kernels that the operator launches, and further calls of the host that launch none (views).
  int launches = 1;
  bool recomputed = false;  // a forward operation that the backward pass repeats
  OperationShape shape{};
  TensorList inputs{};
  TensorList outputs{};
  /// Products only: 2·m·n·k, attention 4·b·h·s²·d forward and 8·b·h·s²·d backward.
  core::Flops flops{};
  /// Distinct bytes of inputs (and of outputs that are accumulated into); for a collective, bytes
  /// that this rank sends.
  core::Bytes bytes_read{};
  /// Bytes of outputs; for a collective, bytes that this rank receives.
  core::Bytes bytes_written{};
  /// The two are given by who added the operation, not by its operands.
  bool states_bytes = false;

  /// "forward.m0.blocks.3.attn.qkv": the key under which both interpreters report.
  [[nodiscard]] std::string name() const;
};

struct Tensor {
  std::string_view role{};    // static text
  std::string_view suffix{};  // static text after the role
  int layer = -1;
  int micro_step = -1;  // -1: lives across the step
  int bucket = -1;
  core::MemoryCategory category{};
  core::DataType type = core::DataType::fp32;
  std::int64_t elements = 0;
  /// A view lies inside `base`, `offset` bytes from its start; a base has no `base` of its own.
  TensorId base{};
  core::Bytes offset{};
  /// Lives from one step to the next; other tensors live from their producer to their last reader.
  bool persistent = false;
  /// Held by something outside the operations (a cache, a variable of the loop): to the end of the
  /// step, or of that operation.
  bool until_end = false;
  OperationId held_until{};

  [[nodiscard]] core::Bytes bytes() const {
    return core::Bytes(elements * core::bytes_per_element(type));
  }
  [[nodiscard]] std::string name() const;
};

struct Communicator {
  std::string name;
  std::vector<int> ranks{};  // in ring order
};

/// AdamW as torch.optim.AdamW: decoupled weight decay. SGD as torch.optim.SGD without dampening and
/// Nesterov: g ← g + weight_decay · w, v ← momentum · v + g (v ← g in the first step), w ← w − lr ·
/// v.
struct OptimizerSettings {
  core::OptimizerKind kind = core::OptimizerKind::adamw;
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  double momentum = 0.9;
  /// As torch.nn.utils.clip_grad_norm_: gradients × min(1, clip_norm / (‖all gradients‖₂ + 1e-6)).
  std::optional<double> clip_norm;
};

/// Operations stand in issue order. On one stream they run in that order; across streams an
/// operation waits for the operations in `dependencies_of`. A step begins when the previous one
/// has ended on every stream.
///
/// CPU ranks (`paceline_cpu`): communication runs on the same core as compute. A collective on the
/// compute stream is executed to its end where it stands. One on the communication stream is
/// advanced by one poll after each compute operation, and to its end by the operation that depends
/// on it.
struct Program {
  std::string interpreter;  // "paceline_cpu", "paceline_cuda", "pytorch_2.11"…
  VitArchitecture architecture;
  int rank = 0;
  int world_size = 1;
  std::int64_t micro_batch = 0;
  std::int64_t accumulation_steps = 1;
  std::int64_t global_batch = 0;
  OptimizerSettings optimizer;
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;
  std::vector<Communicator> communicators;
  /// For each parameter of `parameters_of(architecture)`: its tensor and its gradient's.
  std::vector<TensorId> parameters;
  std::vector<TensorId> gradients;

  [[nodiscard]] const Tensor& at(TensorId id) const { return tensors.at(id.index()); }
  [[nodiscard]] const Operation& at(OperationId id) const { return operations.at(id.index()); }
  [[nodiscard]] const Communicator& at(CommunicatorId id) const {
    return communicators.at(id.index());
  }
  /// Operations of other streams that must end before `id` starts.
  [[nodiscard]] std::span<const OperationId> dependencies_of(OperationId id) const;

  /// 16 hexadecimal digits over everything that an interpreter sees.
  [[nodiscard]] std::string hash() const;

  std::vector<OperationId> dependencies;          // grouped by operation
  std::vector<std::uint32_t> dependency_offsets;  // operations + 1 entries
};

/// FLOPs and bytes by kind, to compare a Program with what a run counted.
struct WorkCount {
  std::int64_t calls = 0;
  core::Flops flops;
  core::Bytes bytes_read;
  core::Bytes bytes_written;
  bool operator==(const WorkCount&) const = default;
};
using WorkByKind = core::PerEnum<core::OperationKind, WorkCount>;
[[nodiscard]] WorkByKind work_by_kind(const Program& program);

/// Proves that the members of each communicator issue the same collectives (kind, count, type,
/// algorithm) in the same order. Throws `core::RunError` naming the first rank and operation that
/// differs. `programs` holds one Program per rank, in rank order.
void check_communicators(std::span<const Program> programs);

}  // namespace paceline::models
