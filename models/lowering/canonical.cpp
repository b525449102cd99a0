#include <algorithm>

#include "core/error.hpp"
#include "models/lowering/draft.hpp"

namespace paceline::models {
namespace {

using core::MemoryCategory;
using core::OperationKind;
using core::Phase;

/// Roles of a linear layer's operations; static text, since operations only refer to it.
struct LinearRoles {
  std::string_view weight, bias, forward, input_gradient, weight_gradient, bias_gradient;
};

constexpr LinearRoles patch_embed_roles{
    "patch_embed.proj.weight",          "patch_embed.proj.bias",         "patch_embed.proj", "",
    "patch_embed.proj.weight_gradient", "patch_embed.proj.bias_gradient"};
constexpr LinearRoles qkv_roles{
    "attn.qkv.weight",          "attn.qkv.bias",         "attn.qkv", "attn.qkv.input_gradient",
    "attn.qkv.weight_gradient", "attn.qkv.bias_gradient"};
constexpr LinearRoles proj_roles{
    "attn.proj.weight",          "attn.proj.bias",         "attn.proj", "attn.proj.input_gradient",
    "attn.proj.weight_gradient", "attn.proj.bias_gradient"};
constexpr LinearRoles fc1_roles{
    "mlp.fc1.weight",          "mlp.fc1.bias",         "mlp.fc1", "mlp.fc1.input_gradient",
    "mlp.fc1.weight_gradient", "mlp.fc1.bias_gradient"};
constexpr LinearRoles fc2_roles{
    "mlp.fc2.weight",          "mlp.fc2.bias",         "mlp.fc2", "mlp.fc2.input_gradient",
    "mlp.fc2.weight_gradient", "mlp.fc2.bias_gradient"};
constexpr LinearRoles head_roles{
    "head.weight",          "head.bias",         "head", "head.input_gradient",
    "head.weight_gradient", "head.bias_gradient"};

struct NormRoles {
  std::string_view weight, bias, forward, mean, rstd, gradient;
};
constexpr NormRoles norm1_roles{"norm1.weight", "norm1.bias", "norm1",
                                "norm1.mean",   "norm1.rstd", "norm1.gradient"};
constexpr NormRoles norm2_roles{"norm2.weight", "norm2.bias", "norm2",
                                "norm2.mean",   "norm2.rstd", "norm2.gradient"};
constexpr NormRoles norm_roles{"norm.weight", "norm.bias", "norm",
                               "norm.mean",   "norm.rstd", "norm.gradient"};

/// How tokens become the row that the head reads.
struct PoolRoles {
  OperationKind kind, gradient_kind;
  std::string_view forward, gradient;
};
constexpr PoolRoles class_token_roles{OperationKind::select_class_token,
                                      OperationKind::select_class_token_gradient, "class_token",
                                      "class_token.gradient"};
constexpr PoolRoles mean_roles{OperationKind::mean_pool, OperationKind::mean_pool_gradient,
                               "mean_pool", "mean_pool.gradient"};
const PoolRoles& pool_roles(const VitArchitecture& model) {
  return model.class_token ? class_token_roles : mean_roles;
}

/// Adds the operations of one micro-step in one phase.
class MicroStep {
 public:
  MicroStep(Draft& draft, int micro_step, std::int64_t images, Phase phase)
      : draft_(draft),
        model_(draft.program.architecture),
        micro_step_(micro_step),
        images_(images),
        phase_(phase) {}

  [[nodiscard]] const VitArchitecture& model() const { return model_; }
  [[nodiscard]] std::int64_t images() const { return images_; }
  [[nodiscard]] std::int64_t rows() const { return images_ * model_.tokens(); }

  TensorId tensor(std::string_view role, int layer, std::int64_t elements,
                  MemoryCategory category = MemoryCategory::activations,
                  core::DataType type = core::DataType::fp32) {
    return draft_.add_tensor({.role = role,
                              .layer = layer,
                              .micro_step = micro_step_,
                              .category = category,
                              .type = type,
                              .elements = elements});
  }

  /// Operations from here on repeat some of the forward pass.
  void recompute(bool recomputed) { recomputed_ = recomputed; }

  void operation(OperationKind kind, std::string_view role, int layer, OperationShape shape,
                 TensorList inputs, TensorList outputs) {
    draft_.add_operation({.kind = kind,
                          .phase = phase_,
                          .accumulate = micro_step_ > 0 && !recomputed_,
                          .micro_step = micro_step_,
                          .layer = layer,
                          .role = role,
                          .recomputed = recomputed_,
                          .shape = shape,
                          .inputs = inputs,
                          .outputs = outputs});
  }

  [[nodiscard]] std::size_t index_of(std::string_view role, int layer) const {
    const auto& specs = draft_.specs;
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const ParameterSpec& spec) {
      return spec.layer == layer && spec.role == role;
    });
    if (found == specs.end()) {
      throw core::InvariantError("no parameter " + std::string(role) + " in block " +
                                 std::to_string(layer));
    }
    return static_cast<std::size_t>(found - specs.begin());
  }
  [[nodiscard]] TensorId parameter(std::string_view role, int layer) const {
    return draft_.program.parameters.at(index_of(role, layer));
  }
  /// The gradient of a parameter, which the operation that asks for it completes.
  [[nodiscard]] TensorId gradient(std::string_view role, int layer) {
    const std::size_t index = index_of(role, layer);
    if (micro_step_ == 0) draft_.ready_order.push_back(index);
    return draft_.program.gradients.at(index);
  }

  /// y[rows, out] = x[rows, in] · weight[out, in]ᵀ + bias
  TensorId linear(const LinearRoles& roles, int layer, TensorId x, std::int64_t rows,
                  std::int64_t in, std::int64_t out) {
    const TensorId y = tensor(roles.forward, layer, rows * out);
    operation(OperationKind::matmul, roles.forward, layer,
              MatmulShape{.m = rows, .n = out, .k = in, .b = Transpose::yes},
              {x, parameter(roles.weight, layer), parameter(roles.bias, layer)}, {y});
    return y;
  }

  /// dx = dy · weight, d weight = dyᵀ · x, d bias = Σ rows of dy. Returns dx.
  TensorId linear_gradient(const LinearRoles& roles, int layer, TensorId dy, TensorId x,
                           std::int64_t rows, std::int64_t in, std::int64_t out) {
    const TensorId dx = tensor(roles.input_gradient, layer, rows * in);
    operation(OperationKind::matmul, roles.input_gradient, layer,
              MatmulShape{.m = rows, .n = in, .k = out}, {dy, parameter(roles.weight, layer)},
              {dx});
    linear_parameter_gradients(roles, layer, dy, x, rows, in, out);
    return dx;
  }

  void linear_parameter_gradients(const LinearRoles& roles, int layer, TensorId dy, TensorId x,
                                  std::int64_t rows, std::int64_t in, std::int64_t out) {
    operation(OperationKind::matmul, roles.weight_gradient, layer,
              MatmulShape{.m = out, .n = in, .k = rows, .a = Transpose::yes}, {dy, x},
              {gradient(roles.weight, layer)});
    operation(OperationKind::bias_gradient, roles.bias_gradient, layer,
              RowsShape{.rows = rows, .width = out}, {dy}, {gradient(roles.bias, layer)});
  }

  struct Normalised {
    TensorId y, mean, rstd;
  };
  Normalised norm(const NormRoles& roles, int layer, TensorId x) {
    const Normalised result{tensor(roles.forward, layer, rows() * model_.width),
                            tensor(roles.mean, layer, rows()), tensor(roles.rstd, layer, rows())};
    operation(OperationKind::layer_norm, roles.forward, layer,
              RowsShape{.rows = rows(), .width = model_.width},
              {x, parameter(roles.weight, layer), parameter(roles.bias, layer)},
              {result.y, result.mean, result.rstd});
    return result;
  }
  TensorId norm_gradient(const NormRoles& roles, int layer, TensorId dy, TensorId x, TensorId mean,
                         TensorId rstd) {
    const TensorId dx = tensor(roles.gradient, layer, rows() * model_.width);
    const TensorId weight_gradient = gradient(roles.weight, layer);
    const TensorId bias_gradient = gradient(roles.bias, layer);
    operation(OperationKind::layer_norm_gradient, roles.gradient, layer,
              RowsShape{.rows = rows(), .width = model_.width},
              {dy, x, parameter(roles.weight, layer), mean, rstd},
              {dx, weight_gradient, bias_gradient});
    return dx;
  }

  TensorId add(std::string_view role, int layer, TensorId a, TensorId b) {
    const TensorId sum = tensor(role, layer, rows() * model_.width);
    operation(OperationKind::add, role, layer, ElementsShape{rows() * model_.width}, {a, b}, {sum});
    return sum;
  }

  [[nodiscard]] AttentionShape attention_shape() const {
    return {.batch = images_,
            .heads = model_.heads,
            .tokens = model_.tokens(),
            .head_dimension = model_.head_dimension()};
  }
  [[nodiscard]] PatchShape patch_shape() const {
    return {.images = images_,
            .channels = model_.channels,
            .image_size = model_.image_size,
            .patch_size = model_.patch_size};
  }
  [[nodiscard]] TokensShape tokens_shape() const {
    return {.images = images_, .tokens = model_.tokens(), .width = model_.width};
  }
  [[nodiscard]] LossShape loss_shape() const {
    return {.images = images_,
            .classes = model_.classes,
            .image_weight = 1.0 / static_cast<double>(draft_.program.global_batch)};
  }

 private:
  Draft& draft_;
  const VitArchitecture& model_;
  int micro_step_;
  std::int64_t images_;
  Phase phase_;
  bool recomputed_ = false;
};

/// A block up to the activation of its MLP: all that its backward pass reads.
void forward_block_saved(MicroStep& step, int layer, TensorId x, SavedForward::Block& saved) {
  const VitArchitecture& model = step.model();
  const std::int64_t rows = step.rows();
  saved.input = x;
  const auto norm1 = step.norm(norm1_roles, layer, x);
  saved.norm1 = norm1.y;
  saved.norm1_mean = norm1.mean;
  saved.norm1_rstd = norm1.rstd;
  saved.qkv = step.linear(qkv_roles, layer, norm1.y, rows, model.width, 3 * model.width);
  saved.attention = step.tensor("attn.core", layer, rows * model.width);
  saved.probabilities = step.tensor("attn.probabilities", layer,
                                    step.images() * model.heads * model.tokens() * model.tokens());
  step.operation(OperationKind::attention, "attn.core", layer, step.attention_shape(), {saved.qkv},
                 {saved.attention, saved.probabilities});
  const TensorId projected =
      step.linear(proj_roles, layer, saved.attention, rows, model.width, model.width);
  saved.middle = step.add("residual1", layer, x, projected);
  const auto norm2 = step.norm(norm2_roles, layer, saved.middle);
  saved.norm2 = norm2.y;
  saved.norm2_mean = norm2.mean;
  saved.norm2_rstd = norm2.rstd;
  saved.hidden = step.linear(fc1_roles, layer, norm2.y, rows, model.width, model.mlp_hidden);
  saved.activated = step.tensor("mlp.act", layer, rows * model.mlp_hidden);
  step.operation(OperationKind::gelu, "mlp.act", layer, ElementsShape{rows * model.mlp_hidden},
                 {saved.hidden}, {saved.activated});
}

TensorId forward_block(MicroStep& step, int layer, TensorId x, SavedForward::Block& saved) {
  forward_block_saved(step, layer, x, saved);
  const TensorId out = step.linear(fc2_roles, layer, saved.activated, step.rows(),
                                   step.model().mlp_hidden, step.model().width);
  return step.add("residual2", layer, saved.middle, out);
}

TensorId backward_block(MicroStep& step, int layer, TensorId dx, const SavedForward::Block& saved) {
  const VitArchitecture& model = step.model();
  const std::int64_t rows = step.rows();
  const TensorId d_activated = step.linear_gradient(fc2_roles, layer, dx, saved.activated, rows,
                                                    model.mlp_hidden, model.width);
  const TensorId d_hidden = step.tensor("mlp.act.gradient", layer, rows * model.mlp_hidden);
  step.operation(OperationKind::gelu_gradient, "mlp.act.gradient", layer,
                 ElementsShape{rows * model.mlp_hidden}, {d_activated, saved.hidden}, {d_hidden});
  const TensorId d_norm2 = step.linear_gradient(fc1_roles, layer, d_hidden, saved.norm2, rows,
                                                model.width, model.mlp_hidden);
  const TensorId d_branch2 = step.norm_gradient(norm2_roles, layer, d_norm2, saved.middle,
                                                saved.norm2_mean, saved.norm2_rstd);
  const TensorId d_middle = step.add("residual2.gradient", layer, d_branch2, dx);
  const TensorId d_attention = step.linear_gradient(proj_roles, layer, d_middle, saved.attention,
                                                    rows, model.width, model.width);
  const TensorId d_qkv = step.tensor("attn.core.gradient", layer, rows * 3 * model.width);
  const TensorId workspace = step.tensor("attn.workspace", layer, model.tokens() * model.tokens(),
                                         MemoryCategory::workspace);
  step.operation(OperationKind::attention_gradient, "attn.core.gradient", layer,
                 step.attention_shape(), {d_attention, saved.qkv, saved.probabilities},
                 {d_qkv, workspace});
  const TensorId d_norm1 = step.linear_gradient(qkv_roles, layer, d_qkv, saved.norm1, rows,
                                                model.width, 3 * model.width);
  const TensorId d_branch1 = step.norm_gradient(norm1_roles, layer, d_norm1, saved.input,
                                                saved.norm1_mean, saved.norm1_rstd);
  return step.add("residual1.gradient", layer, d_branch1, d_middle);
}

}  // namespace

Draft start_draft(const Experiment& experiment, int rank, std::int64_t images,
                  bool with_gradients) {
  Draft draft{.experiment = experiment, .specs = parameters_of(experiment.model)};
  Program& program = draft.program;
  program.interpreter = "paceline_cpu";
  program.architecture = experiment.model;
  program.rank = rank;
  program.world_size = static_cast<int>(experiment.parallel.world_size);
  program.micro_batch = images;
  program.accumulation_steps = experiment.training.accumulation_steps;
  program.global_batch = experiment.global_batch();
  program.optimizer = experiment.training.optimizer_settings();
  const auto add = [&](const ParameterSpec& spec, MemoryCategory category) {
    return draft.add_tensor({.role = spec.role,
                             .layer = spec.layer,
                             .category = category,
                             .elements = spec.elements(),
                             .persistent = true});
  };
  for (const ParameterSpec& spec : draft.specs) {
    program.parameters.push_back(add(spec, MemoryCategory::parameters));
  }
  if (with_gradients) {
    for (const ParameterSpec& spec : draft.specs) {
      program.gradients.push_back(add(spec, MemoryCategory::gradients));
    }
  }
  draft.loss = draft.add_tensor(
      {.role = "loss", .category = MemoryCategory::activations, .elements = 1, .persistent = true});
  return draft;
}

SavedForward canonical_forward(Draft& draft, int micro_step, std::int64_t images) {
  SavedForward saved;
  const VitArchitecture model = draft.program.architecture;
  MicroStep data(draft, micro_step, images, Phase::data);
  const TensorId pixels =
      data.tensor("images", -1, images * model.channels * model.image_size * model.image_size);
  saved.labels =
      data.tensor("labels", -1, images, MemoryCategory::activations, core::DataType::int32);
  data.operation(OperationKind::load_batch, "load_batch", -1, data.patch_shape(), {},
                 {pixels, saved.labels});

  MicroStep step(draft, micro_step, images, Phase::forward);
  const std::int64_t patch_rows = images * model.patches();
  saved.patches = step.tensor("patches", -1, patch_rows * model.patch_values());
  step.operation(OperationKind::patchify, "patchify", -1, step.patch_shape(), {pixels},
                 {saved.patches});
  const TensorId embedded = step.linear(patch_embed_roles, -1, saved.patches, patch_rows,
                                        model.patch_values(), model.width);
  TensorId x = step.tensor("embed", -1, step.rows() * model.width);
  TensorList parts{embedded};
  if (model.class_token) parts.push_back(step.parameter("cls_token", -1));
  parts.push_back(step.parameter("pos_embed", -1));
  step.operation(OperationKind::embed_tokens, "embed", -1, step.tokens_shape(), parts, {x});
  for (int layer = 0; layer < static_cast<int>(model.depth); ++layer) {
    x = forward_block(step, layer, x, saved.blocks.emplace_back());
  }
  saved.last = x;
  const auto norm = step.norm(norm_roles, -1, x);
  saved.normalised = norm.y;
  saved.norm_mean = norm.mean;
  saved.norm_rstd = norm.rstd;
  const PoolRoles& pool = pool_roles(model);
  saved.class_rows = step.tensor(pool.forward, -1, images * model.width);
  step.operation(pool.kind, pool.forward, -1, step.tokens_shape(), {norm.y}, {saved.class_rows});
  const TensorId logits =
      step.linear(head_roles, -1, saved.class_rows, images, model.width, model.classes);
  saved.probabilities = step.tensor("loss.probabilities", -1, images * model.classes);
  step.operation(OperationKind::cross_entropy, "loss", -1, step.loss_shape(),
                 {logits, saved.labels}, {draft.loss, saved.probabilities});
  return saved;
}

void canonical_backward(Draft& draft, int micro_step, std::int64_t images,
                        const SavedForward& saved) {
  const VitArchitecture model = draft.program.architecture;
  const auto checkpointing = draft.experiment.training.activation_checkpointing;
  MicroStep step(draft, micro_step, images, Phase::backward);
  const TensorId d_logits = step.tensor("loss.gradient", -1, images * model.classes);
  step.operation(OperationKind::cross_entropy_gradient, "loss.gradient", -1, step.loss_shape(),
                 {saved.probabilities, saved.labels}, {d_logits});
  const TensorId d_class_rows = step.linear_gradient(head_roles, -1, d_logits, saved.class_rows,
                                                     images, model.width, model.classes);
  const PoolRoles& pool = pool_roles(model);
  const TensorId d_normalised = step.tensor(pool.gradient, -1, step.rows() * model.width);
  step.operation(pool.gradient_kind, pool.gradient, -1, step.tokens_shape(), {d_class_rows},
                 {d_normalised});
  TensorId dx = step.norm_gradient(norm_roles, -1, d_normalised, saved.last, saved.norm_mean,
                                   saved.norm_rstd);
  for (int layer = static_cast<int>(model.depth) - 1; layer >= 0; --layer) {
    SavedForward::Block block = saved.blocks[static_cast<std::size_t>(layer)];
    if (checkpointing == core::ActivationCheckpointing::full) {
      step.recompute(true);
      forward_block_saved(step, layer, block.input, block);
      step.recompute(false);
    }
    dx = backward_block(step, layer, dx, block);
  }
  const std::int64_t patch_rows = images * model.patches();
  const TensorId d_embedded = step.tensor("embed.gradient", -1, patch_rows * model.width);
  TensorList parts{d_embedded};
  if (model.class_token) parts.push_back(step.gradient("cls_token", -1));
  parts.push_back(step.gradient("pos_embed", -1));
  step.operation(OperationKind::embed_tokens_gradient, "embed.gradient", -1, step.tokens_shape(),
                 {dx}, parts);
  step.linear_parameter_gradients(patch_embed_roles, -1, d_embedded, saved.patches, patch_rows,
                                  model.patch_values(), model.width);
}

}  // namespace paceline::models
