#include "models/lowering/cuda.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace paceline::models {

using core::DataType;
using core::MemoryCategory;
using core::OperationKind;

void check_cuda_precision(const Experiment& experiment,
                          const hardware_profiles::DeviceCapabilities& capabilities) {
  const core::Precision precision = experiment.training.precision;
  const DataType type = core::compute_type(precision);
  if (capabilities.product_types[type]) return;
  std::string have;
  for (const DataType one : {DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16}) {
    if (capabilities.product_types[one]) {
      have += (have.empty() ? "" : ", ") + std::string(core::spelling(one));
    }
  }
  throw core::ConfigError("experiment", "/training/precision",
                          "got \"" + std::string(core::spelling(precision)) +
                              "\" (the device multiplies no " + std::string(core::spelling(type)) +
                              ", only " + have + "; choose a precision of these)");
}

namespace {

std::int64_t rows_of(const AttentionShape& shape) {
  return shape.batch * shape.heads * shape.tokens;
}

/// The bias gradient that sums `tensor`'s rows, or null.
Operation* bias_gradient_of(Program& program, TensorId tensor, std::size_t after) {
  for (std::size_t i = after; i < program.operations.size(); ++i) {
    Operation& operation = program.operations[i];
    if (operation.kind == OperationKind::bias_gradient && operation.inputs[0] == tensor) {
      return &operation;
    }
  }
  return nullptr;
}

}  // namespace

void pass_fuse(Draft& draft) {
  Program& program = draft.program;
  std::map<std::size_t, TensorId> output_of;  // of attention, by what it keeps
  std::vector<bool> removed(program.operations.size(), false);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    Operation& operation = program.operations[i];
    if (operation.kind == OperationKind::attention) {
      Tensor& kept = program.tensors[operation.outputs[1].index()];
      kept.role = "attn.logsumexp";
      kept.elements = rows_of(std::get<AttentionShape>(operation.shape));
      output_of[operation.outputs[1].index()] = operation.outputs[0];
    } else if (operation.kind == OperationKind::attention_gradient) {
      const auto& shape = std::get<AttentionShape>(operation.shape);
      operation.inputs.push_back(output_of.at(operation.inputs[2].index()));  // Σ dO · O a row
      program.tensors[operation.outputs[1].index()].elements = rows_of(shape);
    } else if (operation.kind == OperationKind::gelu_gradient) {
      Operation* bias = bias_gradient_of(program, operation.outputs[0], i + 1);
      if (bias == nullptr) continue;
      operation.outputs.push_back(bias->outputs[0]);
      removed[static_cast<std::size_t>(bias - program.operations.data())] = true;
    }
  }
  std::vector<Operation> left;
  left.reserve(program.operations.size());
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    if (!removed[i]) left.push_back(program.operations[i]);
  }
  program.operations = std::move(left);
}

namespace {

/// Kinds whose activations flow in 16 bits.
bool flows_in_half(OperationKind kind) {
  switch (kind) {
    case OperationKind::patchify:
    case OperationKind::matmul:
    case OperationKind::attention:
    case OperationKind::attention_gradient:
    case OperationKind::gelu:
    case OperationKind::gelu_gradient:
    case OperationKind::layer_norm:
    case OperationKind::cross_entropy_gradient:
    case OperationKind::embed_tokens_gradient:
    case OperationKind::select_class_token:
    case OperationKind::mean_pool:
      return true;
    default:
      return false;
  }
}

bool is_product(OperationKind kind) {
  return kind == OperationKind::matmul || kind == OperationKind::attention ||
         kind == OperationKind::attention_gradient;
}

class PrecisionPass {
 public:
  explicit PrecisionPass(Draft& draft)
      : draft_(draft),
        precision_(draft.experiment.training.precision),
        type_(core::compute_type(precision_)) {}

  void run() {
    Program& program = draft_.program;
    for (Operation& operation : program.operations) {
      if (is_product(operation.kind)) operation.type = type_;
    }
    if (core::bytes_per_element(type_) == core::bytes_per_element(DataType::fp32)) return;
    narrow_activations();
    core::has_master_weights(precision_) ? add_master_weights() : add_cast_weights();
  }

 private:
  void narrow_activations() {
    Program& program = draft_.program;
    for (Operation& operation : program.operations) {
      if (!flows_in_half(operation.kind)) continue;
      if (!is_product(operation.kind)) operation.type = type_;
      // The first output is the value, the others are statistics.
      Tensor& value = program.tensors[operation.outputs[0].index()];
      if (value.category == MemoryCategory::activations && !value.persistent) value.type = type_;
    }
    // What joins the stream of residuals is fp32.
    for (const Operation& operation : program.operations) {
      if (operation.kind != OperationKind::add && operation.kind != OperationKind::embed_tokens) {
        continue;
      }
      program.tensors[operation.outputs[0].index()].type = DataType::fp32;
    }
  }

  /// 16-bit copies of all parameters, one cast a bucket at the start of the step; products read
  /// them.
  void add_cast_weights() {
    Program& program = draft_.program;
    std::vector<TensorId> half(program.tensors.size());
    std::vector<Operation> casts;
    for (std::size_t number = 0; number < draft_.buckets.size(); ++number) {
      const Draft::Bucket& bucket = draft_.buckets[number];
      const TensorId flat = draft_.add_tensor({.role = "flat.half",
                                               .bucket = static_cast<int>(number),
                                               .category = MemoryCategory::parameters,
                                               .type = type_,
                                               .elements = bucket.elements,
                                               .persistent = true});
      casts.push_back({.kind = OperationKind::cast,
                       .phase = core::Phase::forward,
                       .bucket = static_cast<int>(number),
                       .role = "cast_weights",
                       .type = DataType::fp32,
                       .shape = ElementsShape{bucket.elements},
                       .inputs = {bucket.parameters},
                       .outputs = {flat}});
      for (std::size_t i = 0; i < program.parameters.size(); ++i) {
        const Tensor& parameter = program.at(program.parameters[i]);
        if (parameter.base != bucket.parameters) continue;
        Tensor copy = parameter;
        copy.suffix = ".half";
        copy.type = type_;
        copy.base = flat;
        copy.offset =
            core::Bytes(parameter.offset.value() / core::bytes_per_element(parameter.type) *
                        core::bytes_per_element(type_));
        const TensorId id = draft_.add_tensor(copy);
        half[program.parameters[i].index()] = id;
      }
    }
    for (Operation& operation : program.operations) {
      if (operation.kind != OperationKind::matmul) continue;
      TensorList inputs;
      for (const TensorId id : operation.inputs) {
        const bool is_parameter = id.index() < half.size() && half[id.index()].valid();
        inputs.push_back(is_parameter ? half[id.index()] : id);
      }
      operation.inputs = inputs;
    }
    program.operations.insert(program.operations.begin(), casts.begin(), casts.end());
  }

  /// Parameters and gradients are 16-bit; the optimizer updates fp32 copies and writes both.
  void add_master_weights() {
    Program& program = draft_.program;
    const auto narrow = [&](TensorId id) {
      Tensor& tensor = program.tensors[id.index()];
      tensor.offset = core::Bytes(tensor.offset.value() / core::bytes_per_element(tensor.type) *
                                  core::bytes_per_element(type_));
      tensor.type = type_;
    };
    const bool accumulates = program.accumulation_steps > 1;
    for (const TensorId id : program.parameters) narrow(id);
    if (!accumulates) {
      for (const TensorId id : program.gradients) narrow(id);
    }
    for (std::size_t number = 0; number < draft_.buckets.size(); ++number) {
      const Draft::Bucket& bucket = draft_.buckets[number];
      narrow(bucket.parameters);
      if (!accumulates) narrow(bucket.gradients);
      const TensorId master = draft_.add_tensor({.role = "master_weights",
                                                 .bucket = static_cast<int>(number),
                                                 .category = MemoryCategory::optimizer_state,
                                                 .elements = bucket.elements,
                                                 .persistent = true});
      for (Operation& operation : program.operations) {
        const bool updates =
            operation.kind == OperationKind::adamw || operation.kind == OperationKind::sgd;
        if (!updates || operation.bucket != static_cast<int>(number)) continue;
        operation.inputs.push_back(master);
        operation.outputs.push_back(master);
      }
    }
    if (accumulates) return;  // fp32 gradients, and what is exchanged is fp32 too
    for (Operation& operation : program.operations) {
      if (auto* shape = std::get_if<CollectiveShape>(&operation.shape)) {
        shape->type = type_;
        program.tensors[operation.inputs[1].index()].type = type_;
      }
    }
  }

  Draft& draft_;
  core::Precision precision_;
  DataType type_;
};

}  // namespace

void pass_precision(Draft& draft) { PrecisionPass(draft).run(); }

}  // namespace paceline::models
