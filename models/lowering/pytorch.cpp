#include "models/lowering/pytorch.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/error.hpp"
#include "models/framework_profile.hpp"
#include "models/lowering/draft.hpp"

/// The canonical operations of a step as PyTorch runs them eagerly: each becomes the operators that
/// its dispatcher is asked for, with the casts of autocast and the tensors that autograd keeps.
/// Facts: operator lists recorded from PyTorch (tests/golden/pytorch_operators).
namespace paceline::models {
namespace {

using core::DataType;
using core::MemoryCategory;
using core::OperationKind;
using core::Phase;

/// Operators of the attention kernel that PyTorch picks.
struct AttentionOperators {
  std::string_view forward, backward;
};

class PytorchTranslation {
 public:
  PytorchTranslation(Draft& canonical, Draft& result, const PytorchRules& rules)
      : canonical_(canonical),
        result_(result),
        rules_(rules),
        half_(rules.autocast ? std::optional(core::compute_type(rules.precision)) : std::nullopt),
        product_type_(core::compute_type(rules.precision)),
        actual_(canonical.program.tensors.size()),
        cast_(result.program.tensors.size()),
        gradient_index_(canonical.program.tensors.size(), no_parameter) {
    const Program& program = canonical.program;
    for (std::size_t i = 0; i < program.parameters.size(); ++i) {
      actual_[program.parameters[i].index()] = result.program.parameters[i];
      if (!program.gradients.empty()) gradient_index_[program.gradients[i].index()] = i;
    }
    actual_[canonical.loss.index()] = result.loss;
  }

  void translate() {
    const std::vector<Operation>& operations = canonical_.program.operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (operations[i].recomputed && !operations[i - 1].recomputed) cast_before_block(i);
      begin(operations[i]);
      translate(operations[i]);
    }
  }

 private:
  static constexpr std::size_t no_parameter = SIZE_MAX;

  [[nodiscard]] bool on_cpu() const { return rules_.backend == PytorchRules::Backend::cpu; }

  /// A block is repeated when its first saved tensor is asked for: after its output's gradient has
  /// been cast.
  void cast_before_block(std::size_t first) {
    const std::vector<Operation>& operations = canonical_.program.operations;
    std::size_t after = first;
    while (operations[after].recomputed) ++after;
    begin(operations[after]);
    output_gradient(operations[after].inputs[0]);
  }

  /// Autocast keeps its casts of weights until the forward pass, or one repeated block, has ended.
  void begin(const Operation& operation) {
    const bool new_context = operation.phase != current_.phase ||
                             operation.micro_step != current_.micro_step ||
                             operation.recomputed != current_.recomputed ||
                             (operation.recomputed && operation.layer != current_.layer);
    if (new_context) end_autocast();
    current_ = operation;
  }

  /// Autocast's cache held its casts up to here.
  void end_autocast() {
    if (!half_) return;
    for (TensorId& id : cast_) {
      if (id.valid()) {
        result_.program.tensors[id.index()].held_until =
            OperationId(result_.program.operations.size() - 1);
      }
      id = {};
    }
  }

  // ---- tensors --------------------------------------------------------------------------------

  TensorId make(std::string_view role, std::string_view suffix, std::int64_t elements,
                DataType type, MemoryCategory category = MemoryCategory::activations) {
    return result_.add_tensor({.role = role,
                               .suffix = suffix,
                               .layer = current_.layer,
                               .micro_step = current_.micro_step,
                               .category = category,
                               .type = type,
                               .elements = elements});
  }
  TensorId make(std::int64_t elements, DataType type, std::string_view suffix = {}) {
    return make(current_.role, suffix, elements, type);
  }
  /// A part of `base`, without memory of its own.
  TensorId view(TensorId base, std::int64_t first, std::int64_t elements) {
    const Tensor& whole = result_.program.at(base);
    const TensorId root = whole.base.valid() ? whole.base : base;
    Tensor part = whole;
    part.base = root;
    part.offset = whole.offset + core::Bytes(first * core::bytes_per_element(whole.type));
    part.elements = elements;
    part.persistent = false;
    return result_.add_tensor(part);
  }
  [[nodiscard]] DataType type_of(TensorId id) const { return result_.program.at(id).type; }
  [[nodiscard]] std::int64_t elements_of(TensorId id) const {
    return result_.program.at(id).elements;
  }
  [[nodiscard]] TensorId actual(TensorId canonical) const {
    const TensorId id = actual_[canonical.index()];
    if (!id.valid()) {
      throw core::InvariantError("operation " + current_.name() + " reads tensor " +
                                 canonical_.program.at(canonical).name() +
                                 ", which PyTorch's Program has not made");
    }
    return id;
  }
  void set(TensorId canonical, TensorId id) { actual_[canonical.index()] = id; }

  // ---- operators ------------------------------------------------------------------------------

  struct Call {
    OperationKind kind;
    std::string_view name;
    std::string_view suffix;
    OperationShape shape;
    TensorList inputs;
    TensorList outputs;
    DataType type = DataType::fp32;
    int launches = 1;
  };
  void call(const Call& c) {
    result_.add_operation({.kind = c.kind,
                           .phase = current_.phase,
                           .micro_step = current_.micro_step,
                           .layer = current_.layer,
                           .role = current_.role,
                           .suffix = c.suffix,
                           .operator_name = c.name,
                           .type = c.type,
                           .launches = c.launches,
                           .recomputed = current_.recomputed,
                           .shape = c.shape,
                           .inputs = c.inputs,
                           .outputs = c.outputs});
  }

  TensorId cast(TensorId from, DataType to, std::string_view suffix) {
    const std::int64_t elements = elements_of(from);
    const TensorId result = make(current_.role, suffix, elements, to);
    call({.kind = OperationKind::cast,
          .name = "aten._to_copy.default",
          .suffix = suffix,
          .shape = ElementsShape{elements},
          .inputs = {from},
          .outputs = {result},
          .type = type_of(from)});
    return result;
  }
  /// What autocast hands to a product.
  TensorId as_operand(TensorId id, std::string_view suffix) {
    return half_ && type_of(id) != *half_ ? cast(id, *half_, suffix) : id;
  }
  TensorId weight_operand(TensorId parameter, std::string_view suffix) {
    if (!half_) return parameter;
    TensorId& cached = cast_[parameter.index()];
    if (!cached.valid()) cached = cast(parameter, *half_, suffix);
    return cached;
  }

  void translate(const Operation& operation) {
    const Program& program = canonical_.program;
    const auto in = [&](std::size_t i) { return actual(operation.inputs[i]); };
    switch (operation.kind) {
      case OperationKind::load_batch:
        return load_batch(operation);
      case OperationKind::patchify:
        set(operation.outputs[0], in(0));  // the convolution reads images
        return;
      case OperationKind::matmul:
        return product(operation, std::get<MatmulShape>(operation.shape));
      case OperationKind::bias_gradient:
        return bias_gradient(operation);
      case OperationKind::embed_tokens:
        return embed(operation);
      case OperationKind::embed_tokens_gradient:
        return embed_gradient(operation);
      case OperationKind::layer_norm:
        return layer_norm(operation);
      case OperationKind::layer_norm_gradient:
        return layer_norm_gradient(operation);
      case OperationKind::attention:
        return rules_.fused_attention ? attention(operation) : unfused_attention(operation);
      case OperationKind::attention_gradient:
        return rules_.fused_attention ? attention_gradient(operation)
                                      : unfused_attention_gradient(operation);
      case OperationKind::gelu:
        return gelu(operation);
      case OperationKind::gelu_gradient:
        return gelu_gradient(operation);
      case OperationKind::add:
        return add(operation);
      case OperationKind::select_class_token:
        set(operation.outputs[0], view(in(0), 0, program.at(operation.outputs[0]).elements));
        return;
      case OperationKind::select_class_token_gradient:
        return pool_gradient(operation, OperationKind::select_class_token_gradient,
                             "aten.select_backward.default", 2);
      case OperationKind::mean_pool:
        return mean_pool(operation);
      case OperationKind::mean_pool_gradient:
        return pool_gradient(operation, OperationKind::mean_pool_gradient, "aten.div.Scalar", 1);
      case OperationKind::cross_entropy:
        return cross_entropy(operation);
      case OperationKind::cross_entropy_gradient:
        return cross_entropy_gradient(operation);
      default:
        throw core::InvariantError("operation " + operation.name() +
                                   " has no form in PyTorch's Program");
    }
  }

  void gelu(const Operation& operation) {
    const TensorId x = actual(operation.inputs[0]);
    const TensorId y = make(elements_of(x), type_of(x));
    set(operation.outputs[0], y);
    call({.kind = OperationKind::gelu,
          .name = "aten.gelu.default",
          .suffix = {},
          .shape = operation.shape,
          .inputs = {x},
          .outputs = {y},
          .type = type_of(x)});
    if (operation.recomputed && half_) cast_last_weights(operation.layer);
  }

  void gelu_gradient(const Operation& operation) {
    const TensorId dy = actual(operation.inputs[0]);
    const TensorId x = actual(operation.inputs[1]);
    const TensorId dx = make(elements_of(x), type_of(x));
    set(operation.outputs[0], dx);
    call({.kind = OperationKind::gelu_gradient,
          .name = "aten.gelu_backward.default",
          .suffix = {},
          .shape = operation.shape,
          .inputs = {dy, x},
          .outputs = {dx},
          .type = type_of(x)});
  }

  /// The stream of residuals is fp32; a branch joins it in its own type.
  void add(const Operation& operation) {
    const bool forward = operation.phase == Phase::forward || operation.recomputed;
    const TensorId a = actual(operation.inputs[0]);
    const TensorId b = actual(operation.inputs[1]);
    const TensorId sum = make(elements_of(a), DataType::fp32);
    set(operation.outputs[0], sum);
    call({.kind = OperationKind::add,
          .name = "aten.add.Tensor",
          .suffix = {},
          .shape = operation.shape,
          .inputs = forward ? TensorList{a, b} : TensorList{b, a},
          .outputs = {sum}});
  }

  void mean_pool(const Operation& operation) {
    const TensorId rows =
        make(canonical_.program.at(operation.outputs[0]).elements, DataType::fp32);
    set(operation.outputs[0], rows);
    call({.kind = OperationKind::mean_pool,
          .name = "aten.mean.dim",
          .suffix = {},
          .shape = operation.shape,
          .inputs = {actual(operation.inputs[0])},
          .outputs = {rows}});
  }

  void load_batch(const Operation& operation) {
    const Program& program = canonical_.program;
    // The loop that trains holds the batch while the step runs.
    const TensorId images = make(program.at(operation.outputs[0]).elements, DataType::fp32);
    const TensorId labels =
        make(program.at(operation.outputs[1]).elements, DataType::int64, ".labels");
    for (const TensorId id : {images, labels}) result_.program.tensors[id.index()].until_end = true;
    set(operation.outputs[0], images);
    set(operation.outputs[1], labels);
    call({.kind = OperationKind::load_batch,
          .name = "aten._to_copy.default",
          .suffix = {},
          .shape = operation.shape,
          .inputs = {},
          .outputs = {images, labels},
          .launches = 2});
  }

  void product(const Operation& operation, const MatmulShape& shape) {
    const bool forward = operation.phase == Phase::forward || operation.recomputed;
    const bool embeds = operation.role.starts_with("patch_embed");
    if (forward) return embeds ? convolution(operation, shape) : linear(operation, shape);
    if (embeds) return;  // convolution_backward makes weight and bias gradient at once
    if (shape.a == Transpose::yes) return weight_gradient(operation, shape);
    input_gradient(operation, shape);
  }

  /// A repeated block stops as soon as all that was saved is back: the last product's operands are
  /// cast, the product itself is not repeated.
  void cast_last_weights(int layer) {
    const Program& program = canonical_.program;
    const TensorId bias = program.parameters[parameter_named("mlp.fc2.bias", layer)];
    const TensorId weight = program.parameters[parameter_named("mlp.fc2.weight", layer)];
    weight_operand(actual(bias), ".fc2.bias.cast");
    weight_used_[weight.index()] = weight_operand(actual(weight), ".fc2.weight.cast");
  }

  void linear(const Operation& operation, const MatmulShape& shape) {
    const TensorId bias = weight_operand(actual(operation.inputs[2]), ".bias.cast");
    const TensorId weight = weight_operand(actual(operation.inputs[1]), ".weight.cast");
    const TensorId source = actual(operation.inputs[0]);
    const TensorId x = as_operand(source, ".input.cast");
    operand_[operation.inputs[0].index()] = x;
    weight_used_[operation.inputs[1].index()] = weight;
    const TensorId y = make(shape.m * shape.n, type_of(x));
    set(operation.outputs[0], y);
    call({.kind = OperationKind::matmul,
          .name = "aten.addmm.default",
          .suffix = {},
          .shape = shape,
          .inputs = {bias, x, weight},
          .outputs = {y},
          .type = product_type_});
  }

  void convolution(const Operation& operation, const MatmulShape& shape) {
    const TensorId bias = weight_operand(actual(operation.inputs[2]), ".bias.cast");
    const TensorId weight = weight_operand(actual(operation.inputs[1]), ".weight.cast");
    const TensorId images = as_operand(actual(operation.inputs[0]), ".input.cast");
    operand_[operation.inputs[0].index()] = images;
    patches_ = operation.inputs[0];
    weight_used_[operation.inputs[1].index()] = weight;
    const TensorId y = make(shape.m * shape.n, type_of(images));
    set(operation.outputs[0], y);
    call({.kind = OperationKind::convolution,
          .name = "aten.convolution.default",
          .suffix = {},
          .shape = shape,
          .inputs = {images, weight, bias},
          .outputs = {y},
          .type = product_type_});
  }

  /// dX = dY · W; the gradient of a cast is cast back after the parameters' gradients.
  void input_gradient(const Operation& operation, const MatmulShape& shape) {
    const TensorId dy = output_gradient(operation.inputs[0]);
    const TensorId weight = weight_used_.at(operation.inputs[1].index());
    const TensorId dx = make(shape.m * shape.n, type_of(dy));
    call({.kind = OperationKind::matmul,
          .name = "aten.mm.default",
          .suffix = {},
          .shape = shape,
          .inputs = {dy, weight},
          .outputs = {dx},
          .type = product_type_});
    set(operation.outputs[0], dx);
    pending_input_ = operation.outputs[0];
  }

  /// The gradient of a product's output, in the product's type.
  TensorId output_gradient(TensorId canonical) {
    const TensorId dy = actual(canonical);
    if (!half_ || type_of(dy) == *half_) return dy;
    TensorId& done = operand_[canonical.index()];
    if (!done.valid()) done = cast(dy, *half_, ".output_gradient.cast");
    return done;
  }

  void weight_gradient(const Operation& operation, const MatmulShape& shape) {
    const TensorId dy = output_gradient(operation.inputs[0]);
    const auto saved = operand_.find(operation.inputs[1].index());
    const TensorId x = saved != operand_.end() ? saved->second : actual(operation.inputs[1]);
    pending_weight_ = make(shape.m * shape.n, type_of(dy));
    weight_parameter_ = gradient_index_[operation.outputs[0].index()];
    call({.kind = OperationKind::matmul,
          .name = "aten.mm.default",
          .suffix = {},
          .shape = shape,
          .inputs = {dy, x},
          .outputs = {pending_weight_},
          .type = product_type_});
    pending_source_ = operation.inputs[1];
  }

  void bias_gradient(const Operation& operation) {
    const std::size_t bias_parameter = gradient_index_[operation.outputs[0].index()];
    if (operation.role.starts_with("patch_embed")) {
      return convolution_gradient(operation, bias_parameter);
    }
    const auto& rows = std::get<RowsShape>(operation.shape);
    const TensorId dy = output_gradient(operation.inputs[0]);
    const TensorId db = make(rows.width, type_of(dy));
    call({.kind = OperationKind::bias_gradient,
          .name = "aten.sum.dim_IntList",
          .suffix = {},
          .shape = rows,
          .inputs = {dy},
          .outputs = {db},
          .type = type_of(dy)});
    if (pending_input_.valid() && half_ && source_is_fp32(pending_source_)) {
      set(pending_input_, cast(actual(pending_input_), DataType::fp32, ".input_gradient.cast"));
    }
    pending_input_ = {};
    finish_gradient(weight_parameter_, pending_weight_, ".weight_gradient.cast");
    finish_gradient(bias_parameter, db, ".bias_gradient.cast");
  }

  /// Whether a product's input was fp32 before autocast.
  [[nodiscard]] bool source_is_fp32(TensorId canonical) const {
    return type_of(actual(canonical)) == DataType::fp32;
  }

  void convolution_gradient(const Operation& operation, std::size_t bias_parameter) {
    const Program& program = canonical_.program;
    const auto& rows = std::get<RowsShape>(operation.shape);
    const TensorId dy = output_gradient(operation.inputs[0]);
    const std::size_t weight_parameter = parameter_named("patch_embed.proj.weight");
    const TensorId weight = program.parameters[weight_parameter];
    const TensorId images = operand_.at(patches_.index());
    const std::int64_t patch_values = program.at(weight).elements / rows.width;
    const TensorId dw = make(program.at(weight).elements, type_of(dy), ".weight");
    const TensorId db = make(rows.width, type_of(dy));
    call({.kind = OperationKind::convolution_gradient,
          .name = "aten.convolution_backward.default",
          .suffix = {},
          .shape =
              MatmulShape{.m = rows.width, .n = patch_values, .k = rows.rows, .a = Transpose::yes},
          .inputs = {dy, images, weight_used_.at(weight.index())},
          .outputs = {dw, db},
          .type = product_type_});
    finish_gradient(weight_parameter, dw, ".weight_gradient.cast");
    finish_gradient(bias_parameter, db, ".bias_gradient.cast");
  }

  [[nodiscard]] std::size_t parameter_named(std::string_view role, int layer = -1) const {
    const auto& specs = canonical_.specs;
    const auto found = std::find_if(specs.begin(), specs.end(), [&](const ParameterSpec& s) {
      return s.role == role && s.layer == layer;
    });
    if (found == specs.end()) throw core::InvariantError("no parameter " + std::string(role));
    return static_cast<std::size_t>(found - specs.begin());
  }

  /// A parameter's gradient is complete: autograd keeps the first and adds the others.
  void finish_gradient(std::size_t parameter, TensorId gradient, std::string_view suffix) {
    if (half_ && type_of(gradient) != DataType::fp32) {
      gradient = cast(gradient, DataType::fp32, suffix);
    }
    TensorId& kept = result_.program.gradients[parameter];
    if (current_.micro_step == 0) {
      Tensor& tensor = result_.program.tensors[gradient.index()];
      tensor.category = MemoryCategory::gradients;
      tensor.until_end = true;
      kept = gradient;
      result_.ready_order.push_back(parameter);
    } else {
      call({.kind = OperationKind::add,
            .name = "aten.add_.Tensor",
            .suffix = accumulate_suffix(suffix),
            .shape = ElementsShape{elements_of(kept)},
            .inputs = {kept, gradient},
            .outputs = {kept}});
    }
    if (current_.micro_step == result_.program.accumulation_steps - 1 || !rules_.no_sync) {
      result_.gradient_done.push_back(
          {.parameter = parameter, .operation = result_.program.operations.size()});
    }
  }
  static std::string_view accumulate_suffix(std::string_view suffix) {
    if (suffix == ".weight_gradient.cast") return ".weight_gradient.accumulate";
    if (suffix == ".bias_gradient.cast") return ".bias_gradient.accumulate";
    return suffix;
  }

  void layer_norm(const Operation& operation) {
    const auto& rows = std::get<RowsShape>(operation.shape);
    const TensorId x = actual(operation.inputs[0]);
    const TensorId y = make(rows.rows * rows.width, DataType::fp32);
    const TensorId mean = make(rows.rows, DataType::fp32, ".mean");
    const TensorId rstd = make(rows.rows, DataType::fp32, ".rstd");
    const TensorId outputs[] = {y, mean, rstd};
    for (std::size_t i = 0; i < operation.outputs.size(); ++i)
      set(operation.outputs[i], outputs[i]);
    call({.kind = OperationKind::layer_norm,
          .name = "aten.native_layer_norm.default",
          .suffix = {},
          .shape = rows,
          .inputs = {x, actual(operation.inputs[1]), actual(operation.inputs[2])},
          .outputs = {y, mean, rstd}});
  }

  void layer_norm_gradient(const Operation& operation) {
    const auto& rows = std::get<RowsShape>(operation.shape);
    const std::size_t weight = gradient_index_[operation.outputs[1].index()];
    const std::size_t bias = gradient_index_[operation.outputs[2].index()];
    const TensorId dx = make(rows.rows * rows.width, DataType::fp32);
    const TensorId dw = make(rows.width, DataType::fp32, ".weight");
    const TensorId db = make(rows.width, DataType::fp32, ".bias");
    set(operation.outputs[0], dx);
    call({.kind = OperationKind::layer_norm_gradient,
          .name = "aten.native_layer_norm_backward.default",
          .suffix = {},
          .shape = rows,
          .inputs = {actual(operation.inputs[0]), actual(operation.inputs[1]),
                     actual(operation.inputs[3]), actual(operation.inputs[4]),
                     result_.program.parameters[weight], result_.program.parameters[bias]},
          .outputs = {dx, dw, db},
          .launches = 2});
    finish_gradient(weight, dw, ".weight.accumulate");
    finish_gradient(bias, db, ".bias.accumulate");
  }

  struct Heads {
    TensorId q, k, v;
  };
  /// Query, key and value are views of the fused projection.
  Heads heads_of(TensorId qkv) {
    const std::int64_t each = elements_of(qkv) / 3;
    return {view(qkv, 0, each), view(qkv, each, each), view(qkv, 2 * each, each)};
  }

  void attention(const Operation& operation) {
    const auto& shape = std::get<AttentionShape>(operation.shape);
    const TensorId qkv = actual(operation.inputs[0]);
    const Heads heads = heads_of(qkv);
    const std::int64_t rows = shape.batch * shape.heads * shape.tokens;
    const TensorId out = make(rows * shape.head_dimension, type_of(qkv));
    const TensorId logsumexp = make(logsumexp_elements(shape), DataType::fp32, ".logsumexp");
    set(operation.outputs[0], out);
    set(operation.outputs[1], logsumexp);
    attention_out_[operation.outputs[1].index()] = out;
    call({.kind = OperationKind::attention,
          .name = rules_.attention_forward,
          .suffix = {},
          .shape = shape,
          .inputs = {heads.q, heads.k, heads.v},
          .outputs = {out, logsumexp},
          .type = product_type_});
  }
  /// The memory-efficient kernel pads each head's row of sums to a multiple of 32.
  [[nodiscard]] std::int64_t logsumexp_elements(const AttentionShape& shape) const {
    constexpr std::int64_t step = 32;
    const std::int64_t tokens =
        rules_.pads_logsumexp ? (shape.tokens + step - 1) / step * step : shape.tokens;
    return shape.batch * shape.heads * tokens;
  }

  void attention_gradient(const Operation& operation) {
    const auto& shape = std::get<AttentionShape>(operation.shape);
    const TensorId d_out = actual(operation.inputs[0]);
    const TensorId qkv = actual(operation.inputs[1]);
    const TensorId logsumexp = actual(operation.inputs[2]);
    const TensorId out = attention_out_.at(operation.inputs[2].index());
    const Heads heads = heads_of(qkv);
    const std::int64_t each = elements_of(qkv) / 3;
    const TensorId dq = make(each, type_of(qkv), ".dq");
    const TensorId dk = make(each, type_of(qkv), ".dk");
    const TensorId dv = make(each, type_of(qkv), ".dv");
    call({.kind = OperationKind::attention_gradient,
          .name = rules_.attention_backward,
          .suffix = {},
          .shape = shape,
          .inputs = {d_out, heads.q, heads.k, heads.v, out, logsumexp},
          .outputs = {dq, dk, dv},
          .type = product_type_,
          .launches = 3});
    join_heads(operation, {dq, dk, dv});
  }

  /// Gradients of query, key and value: stacked, then laid out as the projection's output.
  void join_heads(const Operation& operation, const Heads& gradients) {
    const std::int64_t each = elements_of(gradients.q);
    const DataType type = type_of(gradients.q);
    const TensorId stacked = make(3 * each, type, ".stack");
    call({.kind = OperationKind::concatenate,
          .name = "aten.stack.default",
          .suffix = ".stack",
          .shape = ElementsShape{3 * each},
          .inputs = {gradients.q, gradients.k, gradients.v},
          .outputs = {stacked},
          .type = type});
    const TensorId joined = make(3 * each, type, ".contiguous");
    call({.kind = OperationKind::copy,
          .name = "aten.clone.default",
          .suffix = ".contiguous",
          .shape = ElementsShape{3 * each},
          .inputs = {stacked},
          .outputs = {joined},
          .type = type});
    set(operation.outputs[0], joined);
  }

  struct BatchedProduct {
    std::string_view suffix;
    TensorId a, b;
    std::int64_t m, n, k;
    TensorId result;
  };
  void batched(const BatchedProduct& p, std::int64_t batch) {
    call({.kind = OperationKind::matmul,
          .name = "aten.bmm.default",
          .suffix = p.suffix,
          .shape = MatmulShape{.m = p.m, .n = p.n, .k = p.k, .batch = batch},
          .inputs = {p.a, p.b},
          .outputs = {p.result},
          .type = product_type_});
  }
  TensorId contiguous(TensorId from, std::string_view suffix) {
    const std::int64_t elements = elements_of(from);
    const TensorId to = make(current_.role, suffix, elements, type_of(from));
    call({.kind = OperationKind::copy,
          .name = "aten.clone.default",
          .suffix = suffix,
          .shape = ElementsShape{elements},
          .inputs = {from},
          .outputs = {to},
          .type = type_of(from)});
    return to;
  }
  TensorId scaled(TensorId from, std::string_view suffix) {
    const std::int64_t elements = elements_of(from);
    const TensorId to = make(current_.role, suffix, elements, type_of(from));
    call({.kind = OperationKind::scale,
          .name = "aten.mul.Tensor",
          .suffix = suffix,
          .shape = ElementsShape{elements},
          .inputs = {from},
          .outputs = {to},
          .type = type_of(from)});
    return to;
  }

  /// softmax((q · kᵀ) × scale) · v, as timm writes it without a fused kernel.
  void unfused_attention(const Operation& operation) {
    const auto& s = std::get<AttentionShape>(operation.shape);
    const std::int64_t batch = s.batch * s.heads;
    const std::int64_t scores = batch * s.tokens * s.tokens;
    const TensorId qkv = actual(operation.inputs[0]);
    const Heads heads = heads_of(qkv);
    Unfused kept;
    kept.q = contiguous(heads.q, ".q");
    kept.k = contiguous(heads.k, ".k");
    const TensorId products = make(scores, type_of(qkv), ".scores");
    batched({".scores", kept.q, kept.k, s.tokens, s.tokens, s.head_dimension, products}, batch);
    TensorId logits = scaled(products, ".scale");
    if (half_) logits = cast(logits, DataType::fp32, ".softmax.cast");
    kept.probabilities = make(scores, DataType::fp32, ".softmax");
    call({.kind = OperationKind::softmax,
          .name = "aten._softmax.default",
          .suffix = ".softmax",
          .shape = RowsShape{.rows = batch * s.tokens, .width = s.tokens},
          .inputs = {logits},
          .outputs = {kept.probabilities}});
    kept.weights = as_operand(kept.probabilities, ".probabilities.cast");
    kept.v = contiguous(heads.v, ".v");
    const TensorId out = make(elements_of(qkv) / 3, type_of(qkv));
    batched({".values", kept.weights, kept.v, s.tokens, s.head_dimension, s.tokens, out}, batch);
    set(operation.outputs[0], contiguous(out, ".contiguous"));
    set(operation.outputs[1], kept.probabilities);
    unfused_[operation.outputs[1].index()] = kept;
  }

  void unfused_attention_gradient(const Operation& operation) {
    const auto& s = std::get<AttentionShape>(operation.shape);
    const std::int64_t batch = s.batch * s.heads;
    const std::int64_t scores = batch * s.tokens * s.tokens;
    const Unfused kept = unfused_.at(operation.inputs[2].index());
    const DataType type = type_of(kept.v);
    const std::int64_t each = elements_of(kept.v);
    const TensorId d_out = contiguous(actual(operation.inputs[0]), ".output_gradient");
    const TensorId dv = make(each, type, ".dv");
    batched({".dv", kept.weights, d_out, s.tokens, s.head_dimension, s.tokens, dv}, batch);
    TensorId d_weights = make(scores, type, ".d_probabilities");
    batched({".d_probabilities", d_out, kept.v, s.tokens, s.tokens, s.head_dimension, d_weights},
            batch);
    if (half_) d_weights = cast(d_weights, DataType::fp32, ".d_probabilities.cast");
    TensorId d_logits = make(scores, DataType::fp32, ".softmax_gradient");
    call({.kind = OperationKind::softmax_gradient,
          .name = "aten._softmax_backward_data.default",
          .suffix = ".softmax_gradient",
          .shape = RowsShape{.rows = batch * s.tokens, .width = s.tokens},
          .inputs = {d_weights, kept.probabilities},
          .outputs = {d_logits}});
    if (half_) d_logits = cast(d_logits, *half_, ".d_logits.cast");
    const TensorId d_products = scaled(d_logits, ".d_scale");
    const TensorId dq = make(each, type, ".dq");
    const TensorId dk = make(each, type, ".dk");
    batched({".dk", kept.q, d_products, s.head_dimension, s.tokens, s.tokens, dk}, batch);
    batched({".dq", d_products, kept.k, s.tokens, s.head_dimension, s.tokens, dq}, batch);
    join_heads(operation, {dq, dk, dv});
  }

  void embed(const Operation& operation) {
    const VitArchitecture& model = canonical_.program.architecture;
    const std::int64_t images = std::get<TokensShape>(operation.shape).images;
    TensorId x = actual(operation.inputs[0]);
    const TensorId positions = actual(operation.inputs[operation.inputs.size() - 1]);
    if (model.class_token) {
      const TensorId expanded = view(actual(operation.inputs[1]), 0, model.width);
      result_.program.tensors[expanded.index()].elements = images * model.width;  // broadcast
      if (half_ && on_cpu()) x = cast(x, DataType::fp32, ".cast");
      const TensorId joined = make(images * model.tokens() * model.width, DataType::fp32, ".cat");
      call({.kind = OperationKind::concatenate,
            .name = "aten.cat.default",
            .suffix = ".cat",
            .shape = ElementsShape{images * model.tokens() * model.width},
            .inputs = {expanded, x},
            .outputs = {joined}});
      x = joined;
    }
    const TensorId sum = make(images * model.tokens() * model.width, DataType::fp32);
    set(operation.outputs[0], sum);
    call({.kind = OperationKind::add,
          .name = "aten.add.Tensor",
          .suffix = {},
          .shape = ElementsShape{images * model.tokens() * model.width},
          .inputs = {x, positions},
          .outputs = {sum}});
  }

  void embed_gradient(const Operation& operation) {
    const VitArchitecture& model = canonical_.program.architecture;
    const std::int64_t images = std::get<TokensShape>(operation.shape).images;
    const TensorId dx = actual(operation.inputs[0]);
    const std::int64_t each = model.tokens() * model.width;
    const std::size_t positions = gradient_index_[last_output(operation).index()];
    const TensorId d_positions = make(each, DataType::fp32, ".pos_embed");
    call({.kind = OperationKind::bias_gradient,
          .name = "aten.sum.dim_IntList",
          .suffix = ".pos_embed",
          .shape = RowsShape{.rows = images, .width = each},
          .inputs = {dx},
          .outputs = {d_positions}});
    finish_gradient(positions, d_positions, ".pos_embed.accumulate");
    const std::int64_t patch_elements = images * model.patches() * model.width;
    TensorId d_embedded = view(dx, model.class_token ? model.width : 0, patch_elements);
    if (half_) d_embedded = cast(d_embedded, *half_, ".cast");
    set(operation.outputs[0], d_embedded);
    if (!model.class_token) return;
    const std::size_t token = gradient_index_[operation.outputs[1].index()];
    const TensorId d_token = make(model.width, DataType::fp32, ".cls_token");
    call({.kind = OperationKind::bias_gradient,
          .name = "aten.sum.dim_IntList",
          .suffix = ".cls_token",
          .shape = RowsShape{.rows = images, .width = model.width},
          .inputs = {view(dx, 0, images * model.width)},
          .outputs = {d_token}});
    finish_gradient(token, d_token, ".cls_token.accumulate");
  }
  static TensorId last_output(const Operation& operation) {
    return operation.outputs[operation.outputs.size() - 1];
  }

  void pool_gradient(const Operation& operation, OperationKind kind, std::string_view name,
                     int launches) {
    const TensorId rows = actual(operation.inputs[0]);
    const TensorId dx = make(canonical_.program.at(operation.outputs[0]).elements, DataType::fp32);
    set(operation.outputs[0], dx);
    call({.kind = kind,
          .name = name,
          .suffix = {},
          .shape = operation.shape,
          .inputs = {rows},
          .outputs = {dx},
          .launches = launches});
  }

  void cross_entropy(const Operation& operation) {
    const auto& shape = std::get<LossShape>(operation.shape);
    TensorId logits = actual(operation.inputs[0]);
    const TensorId labels = actual(operation.inputs[1]);
    result_.program.tensors[logits.index()].until_end = true;  // the loop's variable
    if (half_ && on_cpu()) logits = cast(logits, DataType::fp32, ".cast");
    TensorId log_probabilities =
        make(shape.images * shape.classes, type_of(logits), ".log_softmax");
    call({.kind = OperationKind::log_softmax,
          .name = "aten._log_softmax.default",
          .suffix = ".log_softmax",
          .shape = RowsShape{.rows = shape.images, .width = shape.classes},
          .inputs = {logits},
          .outputs = {log_probabilities},
          .type = type_of(logits)});
    log_softmax_ = log_probabilities;
    if (type_of(log_probabilities) != DataType::fp32) {
      log_probabilities = cast(log_probabilities, DataType::fp32, ".cast");
    }
    const TensorId loss = make(1, DataType::fp32);
    total_weight_ = make(1, DataType::fp32, ".total_weight");
    result_.program.tensors[loss.index()].until_end = true;
    call({.kind = OperationKind::nll_loss,
          .name = "aten.nll_loss_forward.default",
          .suffix = {},
          .shape = shape,
          .inputs = {log_probabilities, labels},
          .outputs = {loss, total_weight_}});
    set(operation.outputs[1], log_probabilities);
    loss_ = loss;
    if (rules_.scales_loss) scale_loss(loss);
  }

  void scale_loss(TensorId loss) {
    loss_ = make(1, DataType::fp32, ".scaled");
    result_.program.tensors[loss_.index()].until_end = true;
    call({.kind = OperationKind::scale,
          .name = "aten.mul.Tensor",
          .suffix = ".scaled",
          .shape = ElementsShape{1},
          .inputs = {loss},
          .outputs = {loss_}});
  }

  void cross_entropy_gradient(const Operation& operation) {
    const auto& shape = std::get<LossShape>(operation.shape);
    const TensorId log_probabilities = actual(operation.inputs[0]);
    const TensorId labels = actual(operation.inputs[1]);
    TensorId d_loss = make(1, DataType::fp32, ".one");
    call({.kind = OperationKind::fill,
          .name = "aten.ones_like.default",
          .suffix = ".one",
          .shape = ElementsShape{1},
          .inputs = {loss_},
          .outputs = {d_loss}});
    if (rules_.scales_loss) d_loss = scaled(d_loss, ".scaled");
    const std::int64_t elements = shape.images * shape.classes;
    const TensorId d_log = make(elements, DataType::fp32, ".nll_loss");
    call({.kind = OperationKind::nll_loss_gradient,
          .name = "aten.nll_loss_backward.default",
          .suffix = ".nll_loss",
          .shape = shape,
          .inputs = {d_loss, log_probabilities, labels, total_weight_},
          .outputs = {d_log},
          .launches = 2});
    const DataType type = type_of(log_softmax_);
    const TensorId incoming =
        type == DataType::fp32 ? d_log : cast(d_log, type, ".log_softmax.cast");
    const TensorId d_logits = make(elements, type);
    call({.kind = OperationKind::log_softmax_gradient,
          .name = "aten._log_softmax_backward_data.default",
          .suffix = {},
          .shape = RowsShape{.rows = shape.images, .width = shape.classes},
          .inputs = {incoming, log_softmax_},
          .outputs = {d_logits},
          .type = type});
    set(operation.outputs[0], d_logits);
  }

  struct Unfused {
    TensorId q, k, v, probabilities, weights;
  };

  Draft& canonical_;
  Draft& result_;
  const PytorchRules& rules_;
  std::optional<DataType> half_;
  DataType product_type_;
  std::vector<TensorId> actual_;  // by canonical tensor
  std::vector<TensorId> cast_;    // by parameter of the result: autocast's copy
  std::vector<std::size_t> gradient_index_;
  std::map<std::size_t, TensorId> operand_;      // canonical tensor → as products read it
  std::map<std::size_t, TensorId> weight_used_;  // canonical parameter → as products read it
  std::map<std::size_t, TensorId> attention_out_;
  std::map<std::size_t, Unfused> unfused_;
  Operation current_{};
  TensorId pending_input_{}, pending_weight_{}, pending_source_{};
  std::size_t weight_parameter_ = no_parameter;
  TensorId patches_{};
  TensorId total_weight_{}, loss_{}, log_softmax_{};
};

}  // namespace

void translate_to_pytorch(Draft& canonical, Draft& result, const PytorchRules& rules) {
  PytorchTranslation(canonical, result, rules).translate();
}

namespace {

/// Buckets as DDP's compute_bucket_assignment_by_size forms them: parameters in the order in which
/// their gradients were ready; a bucket is closed by the parameter that reaches its limit.
std::vector<std::vector<std::size_t>> ddp_buckets(const Draft& draft, const PytorchRules& rules) {
  std::vector<std::vector<std::size_t>> buckets;
  core::Bytes limit = rules.first_bucket;
  core::Bytes size;
  bool open = false;
  for (const std::size_t parameter : draft.ready_order) {
    if (!open) {
      buckets.emplace_back();
      size = {};
      open = true;
    }
    buckets.back().push_back(parameter);
    size += draft.program.at(draft.program.parameters[parameter]).bytes();
    if (size >= limit) {
      open = false;
      limit = rules.bucket;
    }
  }
  return buckets;
}

/// Inserts DDP's work into the backward pass.
class DdpReducer {
 public:
  DdpReducer(Draft& draft, const PytorchRules& rules, bool overlap)
      : draft_(draft), rules_(rules), overlap_(overlap), bucket_of_(draft.specs.size()) {}

  void run() {
    Program& program = draft_.program;
    program.communicators.push_back({.name = "world", .ranks = {}});
    for (int rank = 0; rank < program.world_size; ++rank) {
      program.communicators.back().ranks.push_back(rank);
    }
    make_buckets();
    const std::vector<Operation> before = std::move(program.operations);
    program.operations.clear();
    program.operations.reserve(before.size() + 2 * draft_.specs.size() + buckets_.size());
    auto done = draft_.gradient_done.begin();
    for (std::size_t i = 0; i <= before.size(); ++i) {
      for (; done != draft_.gradient_done.end() && done->operation == i; ++done) {
        gradient_done(done->parameter, before[i - 1]);
      }
      if (i < before.size()) program.operations.push_back(before[i]);
    }
  }

 private:
  void make_buckets() {
    const auto members = ddp_buckets(draft_, rules_);
    for (std::size_t number = 0; number < members.size(); ++number) {
      Bucket bucket{.members = members[number]};
      for (const std::size_t parameter : bucket.members) {
        bucket_of_[parameter] = number;
        bucket.elements += draft_.specs[parameter].elements();
      }
      bucket.flat = draft_.add_tensor({.role = "flat",
                                       .bucket = static_cast<int>(number),
                                       .category = MemoryCategory::communication,
                                       .elements = bucket.elements,
                                       .persistent = true});
      buckets_.push_back(std::move(bucket));
    }
  }

  void gradient_done(std::size_t parameter, const Operation& by) {
    Bucket& bucket = buckets_[bucket_of_[parameter]];
    copy(parameter, by.micro_step, ".to_bucket", "aten.mul.out", OperationKind::scale,
         {draft_.program.gradients[parameter], bucket.flat}, {bucket.flat});
    if (++bucket.ready < bucket.members.size()) return;
    bucket.ready = 0;
    ++complete_;
    if (overlap_) reduce(bucket_of_[parameter], by.micro_step);
    if (complete_ == buckets_.size()) finish(by.micro_step);
  }

  void copy(std::size_t parameter, int micro_step, std::string_view suffix, std::string_view name,
            OperationKind kind, TensorList inputs, TensorList outputs) {
    const ParameterSpec& spec = draft_.specs[parameter];
    const core::Bytes bytes = draft_.program.at(draft_.program.parameters[parameter]).bytes();
    draft_.add_operation({.kind = kind,
                          .phase = Phase::backward,
                          .micro_step = micro_step,
                          .layer = spec.layer,
                          .role = spec.role,
                          .suffix = suffix,
                          .operator_name = name,
                          .shape = ElementsShape{spec.elements()},
                          .inputs = inputs,
                          .outputs = outputs,
                          .bytes_read = bytes,
                          .bytes_written = bytes,
                          .states_bytes = true});
  }

  void reduce(std::size_t number, int micro_step) {
    const Bucket& bucket = buckets_[number];
    draft_.add_operation({.kind = OperationKind::all_reduce,
                          .phase = Phase::communication,
                          .stream = overlap_ ? core::Stream::communication : core::Stream::compute,
                          .micro_step = rules_.no_sync ? -1 : micro_step,
                          .bucket = static_cast<int>(number),
                          .role = "all_reduce",
                          .shape = CollectiveShape{.communicator = CommunicatorId(0),
                                                   .sequence = sequence_++,
                                                   .elements = bucket.elements},
                          .inputs = {bucket.flat},
                          .outputs = {bucket.flat}});
  }

  /// The step's last gradient is there: wait for every bucket, copy it back.
  void finish(int micro_step) {
    complete_ = 0;
    if (!overlap_) {
      for (std::size_t number = 0; number < buckets_.size(); ++number) reduce(number, micro_step);
    }
    for (const Bucket& bucket : buckets_) {
      for (const std::size_t parameter : bucket.members) {
        copy(parameter, micro_step, ".from_bucket", "aten.copy_.default", OperationKind::copy,
             {bucket.flat, draft_.program.gradients[parameter]},
             {draft_.program.gradients[parameter]});
      }
    }
  }

  struct Bucket {
    std::vector<std::size_t> members;
    std::int64_t elements = 0;
    TensorId flat{};
    std::size_t ready = 0;
  };
  Draft& draft_;
  const PytorchRules& rules_;
  bool overlap_;
  std::vector<std::size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  std::size_t complete_ = 0;
  std::int64_t sequence_ = 0;
};

}  // namespace

void pass_ddp(Draft& draft, const PytorchRules& rules, bool overlap) {
  if (draft.program.world_size == 1) return;
  DdpReducer(draft, rules, overlap).run();
}

namespace {

/// An operator of the optimizer on all parameters: so many values of each are read and written.
struct OptimizerOperator {
  std::string_view suffix, name;
  int reads, writes;
};

constexpr std::array fused_adamw{OptimizerOperator{"", "aten._fused_adamw_.default", 4, 3}};
constexpr std::array fused_sgd{OptimizerOperator{"", "aten._fused_sgd_.default", 3, 2}};
constexpr std::array foreach_adamw{
    OptimizerOperator{".decay", "aten._foreach_mul_.Scalar", 1, 1},
    OptimizerOperator{".first_moment", "aten._foreach_lerp_.Scalar", 2, 1},
    OptimizerOperator{".second_moment_decay", "aten._foreach_mul_.Scalar", 1, 1},
    OptimizerOperator{".second_moment", "aten._foreach_addcmul_.Scalar", 3, 1},
    OptimizerOperator{".root", "aten._foreach_sqrt.default", 1, 1},
    OptimizerOperator{".correction", "aten._foreach_div_.ScalarList", 1, 1},
    OptimizerOperator{".epsilon", "aten._foreach_add_.Scalar", 1, 1},
    OptimizerOperator{".update", "aten._foreach_addcdiv_.ScalarList", 3, 1}};
constexpr std::array foreach_sgd{
    OptimizerOperator{".decay", "aten._foreach_add.List", 2, 1},
    OptimizerOperator{".momentum_decay", "aten._foreach_mul_.Scalar", 1, 1},
    OptimizerOperator{".momentum", "aten._foreach_add_.List", 2, 1},
    OptimizerOperator{".update", "aten._foreach_add_.List", 2, 1}};
constexpr std::array single_adamw{
    OptimizerOperator{".step", "aten.add_.Tensor", 0, 0},
    OptimizerOperator{".decay", "aten.mul_.Tensor", 1, 1},
    OptimizerOperator{".first_moment", "aten.lerp_.Scalar", 2, 1},
    OptimizerOperator{".second_moment_decay", "aten.mul_.Tensor", 1, 1},
    OptimizerOperator{".second_moment", "aten.addcmul_.default", 3, 1},
    OptimizerOperator{".root", "aten.sqrt.default", 1, 1},
    OptimizerOperator{".correction", "aten.div.Tensor", 1, 1},
    OptimizerOperator{".epsilon", "aten.add_.Tensor", 1, 1},
    OptimizerOperator{".update", "aten.addcdiv_.default", 3, 1}};
constexpr std::array single_sgd{OptimizerOperator{".decay", "aten.add.Tensor", 2, 1},
                                OptimizerOperator{".momentum_decay", "aten.mul_.Tensor", 1, 1},
                                OptimizerOperator{".momentum", "aten.add_.Tensor", 2, 1},
                                OptimizerOperator{".update", "aten.add_.Tensor", 2, 1}};

/// PyTorch's multi-tensor kernels take at most so many tensors, and so many chunks of 65,536
/// elements, a launch (ATen/native/cuda/MultiTensorApply.cuh, for lists of four).
int multi_tensor_launches(std::int64_t tensors, std::int64_t elements) {
  constexpr std::int64_t most_tensors = 36;
  constexpr std::int64_t most_chunks = 320;
  constexpr std::int64_t chunk = 65536;
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  return static_cast<int>(
      std::max(up(tensors, most_tensors), up(up(elements, chunk), most_chunks)));
}

class OptimizerEmitter {
 public:
  OptimizerEmitter(Draft& draft, const PytorchRules& rules) : draft_(draft), rules_(rules) {
    for (const ParameterSpec& spec : draft.specs) elements_ += spec.elements();
  }

  void run() {
    make_state();
    if (rules_.loss_scaling) {
      call(OperationKind::check_finite, "unscale",
           {"", "aten._amp_foreach_non_finite_check_and_unscale_.default", 1, 1});
    }
    if (draft_.program.optimizer.clip_norm) clip();
    const bool adamw = draft_.program.optimizer.kind == core::OptimizerKind::adamw;
    switch (rules_.optimizer_kernels) {
      case OptimizerKernels::fused:
        if (adamw) {
          count_steps("aten._foreach_add_.Scalar");
          all(fused_adamw, "adamw");
        } else {
          all(fused_sgd, "sgd");
        }
        break;
      case OptimizerKernels::foreach:
        if (adamw) {
          count_steps("aten._foreach_add_.Tensor");
          all(foreach_adamw, "adamw");
        } else {
          all(foreach_sgd, "sgd");
        }
        break;
      case OptimizerKernels::single_tensor:
        adamw ? one_by_one(single_adamw) : one_by_one(single_sgd);
        break;
    }
    if (rules_.loss_scaling) {
      call(OperationKind::update_loss_scale, "update_loss_scale",
           {"", "aten._amp_update_scale_.default", 0, 0});
    }
  }

 private:
  void make_state() {
    const OptimizerSettings& optimizer = draft_.program.optimizer;
    const bool adamw = optimizer.kind == core::OptimizerKind::adamw;
    const int moments = adamw ? 2 : optimizer.momentum > 0.0 ? 1 : 0;
    for (const ParameterSpec& spec : draft_.specs) {
      const auto add = [&](std::string_view suffix, std::int64_t elements) {
        draft_.add_tensor({.role = spec.role,
                           .suffix = suffix,
                           .layer = spec.layer,
                           .category = MemoryCategory::optimizer_state,
                           .elements = elements,
                           .persistent = true});
      };
      if (moments > 0) add(adamw ? ".first_moment" : ".momentum", spec.elements());
      if (moments > 1) add(".second_moment", spec.elements());
      // Steps are counted on the GPU by the fused kernels, else on the host.
      if (adamw && rules_.optimizer_kernels == OptimizerKernels::fused) add(".step", 1);
    }
  }

  void call(OperationKind kind, std::string_view role, const OptimizerOperator& what) {
    const std::int64_t value = elements_ * core::bytes_per_element(DataType::fp32);
    draft_.add_operation({.kind = kind,
                          .phase = Phase::optimizer,
                          .role = role,
                          .suffix = what.suffix,
                          .operator_name = what.name,
                          .launches = multi_tensor_launches(
                              static_cast<std::int64_t>(draft_.specs.size()), elements_),
                          .shape = ElementsShape{elements_},
                          .bytes_read = core::Bytes(what.reads * value),
                          .bytes_written = core::Bytes(what.writes * value),
                          .states_bytes = true});
  }

  void count_steps(std::string_view name) {
    call(OperationKind::count_steps, "count_steps", {"", name, 0, 0});
  }

  template <std::size_t n>
  void all(const std::array<OptimizerOperator, n>& operators, std::string_view role) {
    for (const OptimizerOperator& one : operators) {
      if (!is_called(one)) continue;
      call(optimizer_kind(), role, one);
      const bool makes_copy =
          one.suffix == ".root" || one.name == std::string_view("aten._foreach_add.List");
      if (makes_copy) temporary();
    }
  }

  /// torch.optim leaves out what a coefficient of zero makes needless.
  [[nodiscard]] bool is_called(const OptimizerOperator& one) const {
    const OptimizerSettings& optimizer = draft_.program.optimizer;
    if (one.suffix == ".decay") return optimizer.weight_decay != 0.0;
    if (one.suffix.starts_with(".momentum")) return optimizer.momentum != 0.0;
    return true;
  }

  /// A list of new tensors, as large as the parameters, that the optimizer's last operator reads.
  void temporary() {
    const TensorId copy = draft_.add_tensor({.role = "optimizer.temporary",
                                             .category = MemoryCategory::workspace,
                                             .elements = elements_});
    draft_.program.operations.back().outputs.push_back(copy);
    draft_.program.tensors[copy.index()].until_end = true;
  }

  [[nodiscard]] OperationKind optimizer_kind() const {
    return draft_.program.optimizer.kind == core::OptimizerKind::adamw ? OperationKind::adamw
                                                                       : OperationKind::sgd;
  }

  template <std::size_t n>
  void one_by_one(const std::array<OptimizerOperator, n>& operators) {
    for (const ParameterSpec& spec : draft_.specs) {
      const std::int64_t value = spec.elements() * core::bytes_per_element(DataType::fp32);
      for (const OptimizerOperator& one : operators) {
        if (!is_called(one)) continue;
        draft_.add_operation({.kind = optimizer_kind(),
                              .phase = Phase::optimizer,
                              .layer = spec.layer,
                              .role = spec.role,
                              .suffix = one.suffix,
                              .operator_name = one.name,
                              .launches = one.reads > 0 ? 1 : 0,
                              .shape = ElementsShape{spec.elements()},
                              .bytes_read = core::Bytes(one.reads * value),
                              .bytes_written = core::Bytes(one.writes * value),
                              .states_bytes = true});
      }
    }
  }

  /// torch.nn.utils.clip_grad_norm_
  void clip() {
    call(OperationKind::gradient_norm, "clip.norms", {"", "aten._foreach_norm.Scalar", 1, 0});
    struct Scalar {
      std::string_view role, name;
    };
    constexpr std::array scalars{Scalar{"clip.stack", "aten.stack.default"},
                                 Scalar{"clip.norm", "aten.linalg_vector_norm.default"},
                                 Scalar{"clip.add", "aten.add.Tensor"},
                                 Scalar{"clip.reciprocal", "aten.reciprocal.default"},
                                 Scalar{"clip.multiply", "aten.mul.Tensor"},
                                 Scalar{"clip.clamp", "aten.clamp.default"}};
    for (const Scalar& one : scalars) {
      draft_.add_operation({.kind = OperationKind::clip_coefficient,
                            .phase = Phase::optimizer,
                            .role = one.role,
                            .operator_name = one.name,
                            .shape = ElementsShape{1},
                            .states_bytes = true});
    }
    call(OperationKind::scale, "clip.scale", {"", "aten._foreach_mul_.Tensor", 1, 1});
  }

  Draft& draft_;
  const PytorchRules& rules_;
  std::int64_t elements_ = 0;
};

}  // namespace

void pass_pytorch_optimizer(Draft& draft, const PytorchRules& rules) {
  OptimizerEmitter(draft, rules).run();
}

}  // namespace paceline::models
