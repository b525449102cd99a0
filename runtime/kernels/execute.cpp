#include "runtime/kernels/execute.hpp"

#include "core/error.hpp"
#include "runtime/kernels/adamw.hpp"
#include "runtime/kernels/attention.hpp"
#include "runtime/kernels/clip.hpp"
#include "runtime/kernels/layer_norm.hpp"
#include "runtime/kernels/loss.hpp"
#include "runtime/kernels/matmul.hpp"
#include "runtime/kernels/pointwise.hpp"
#include "runtime/kernels/sgd.hpp"
#include "runtime/kernels/tokens.hpp"

namespace paceline::runtime::kernels {
namespace {

using core::OperationKind;
using models::Operation;
using models::Program;

/// An operation's operands by position, as `models/program.hpp` lists them.
template <class Scalar>
class Operands {
 public:
  Operands(const Program& program, const Operation& operation, Storage<Scalar>& storage)
      : program_(program), operation_(operation), storage_(storage) {}

  [[nodiscard]] std::span<const Scalar> in(std::size_t i) const {
    return storage_.values(operation_.inputs[i]);
  }
  [[nodiscard]] std::span<const Scalar> optional_in(std::size_t i) const {
    return i < operation_.inputs.size() ? in(i) : std::span<const Scalar>();
  }
  [[nodiscard]] std::span<const std::int32_t> labels(std::size_t i) const {
    return storage_.integers(operation_.inputs[i]);
  }
  [[nodiscard]] std::span<Scalar> out(std::size_t i) const {
    return storage_.values(operation_.outputs[i]);
  }
  [[nodiscard]] std::span<Scalar> optional_out(std::size_t i) const {
    return i < operation_.outputs.size() ? out(i) : std::span<Scalar>();
  }
  template <class Shape>
  [[nodiscard]] const Shape& shape() const {
    const Shape* const shape = std::get_if<Shape>(&operation_.shape);
    if (shape == nullptr) {
      throw core::InvariantError("operation " + operation_.name() +
                                 " has the shape of another "
                                 "kind than " +
                                 std::string(core::spelling(operation_.kind)));
    }
    return *shape;
  }
  /// `accumulate` holds for a whole micro-step; of its outputs only those that live across
  /// micro-steps are added to.
  [[nodiscard]] Write write(std::size_t output) const {
    const bool lives_on = program_.at(operation_.outputs[output]).persistent;
    return operation_.accumulate && lives_on ? Write::add : Write::overwrite;
  }

 private:
  const Program& program_;
  const Operation& operation_;
  Storage<Scalar>& storage_;
};

double clip_norm_of(const Program& program) {
  if (const auto& norm = program.optimizer.clip_norm) return *norm;
  throw core::InvariantError("a Program without a clip norm clips gradients");
}

template <class Scalar>
void embed(const Operands<Scalar>& on, bool class_token, models::WorkCount& count) {
  const auto& shape = on.template shape<models::TokensShape>();
  if (class_token) {
    return embed_tokens<Scalar>(shape, on.in(0), on.in(1), on.in(2), on.out(0), count);
  }
  embed_tokens<Scalar>(shape, on.in(0), {}, on.in(1), on.out(0), count);
}

template <class Scalar>
void embed_gradient(const Operands<Scalar>& on, bool class_token, models::WorkCount& count) {
  const auto& shape = on.template shape<models::TokensShape>();
  if (class_token) {
    return embed_tokens_gradient<Scalar>(shape, on.in(0), on.out(0), on.out(1), on.out(2),
                                         on.write(1), count);
  }
  embed_tokens_gradient<Scalar>(shape, on.in(0), on.out(0), {}, on.out(1), on.write(1), count);
}

/// Clipping and the optimizer.
template <class Scalar>
void execute_update(const Operands<Scalar>& on, const Program& program, const Operation& operation,
                    std::int64_t optimizer_step, models::WorkCount& count) {
  switch (operation.kind) {
    case OperationKind::adamw:
      return adamw<Scalar>(on.template shape<models::ElementsShape>(), program.optimizer,
                           optimizer_step, on.in(0), on.out(0), on.out(1), on.out(2), count);
    case OperationKind::sgd:
      return sgd<Scalar>(on.template shape<models::ElementsShape>(),
                         {.learning_rate = program.optimizer.learning_rate,
                          .momentum = program.optimizer.momentum,
                          .weight_decay = program.optimizer.weight_decay},
                         on.in(0), on.out(0), on.optional_out(1), count);
    case OperationKind::gradient_norm:
      return gradient_norm<Scalar>(on.template shape<models::ElementsShape>(), on.in(0), on.out(0),
                                   count);
    case OperationKind::clip_coefficient:
      return clip_coefficient<Scalar>(on.template shape<models::ElementsShape>(),
                                      clip_norm_of(program), on.in(0), on.out(0), count);
    case OperationKind::scale:
      return scale<Scalar>(on.template shape<models::ElementsShape>(), on.in(1), on.out(0), count);
    default:
      break;
  }
  throw core::InvariantError("operation " + operation.name() +
                             " is no kernel (the interpreter "
                             "executes " +
                             std::string(core::spelling(operation.kind)) + ")");
}

}  // namespace

template <class Scalar>
void execute(const Program& program, const Operation& operation, Storage<Scalar>& storage,
             std::int64_t optimizer_step, models::WorkByKind& counted) {
  const Operands<Scalar> on(program, operation, storage);
  const models::VitArchitecture& model = program.architecture;
  models::WorkCount& count = counted[operation.kind];
  switch (operation.kind) {
    case OperationKind::patchify:
      return patchify<Scalar>(on.template shape<models::PatchShape>(), on.in(0), on.out(0), count);
    case OperationKind::matmul:
      return matmul<Scalar>(on.template shape<models::MatmulShape>(), on.in(0), on.in(1),
                            on.optional_in(2), on.out(0), on.write(0), count);
    case OperationKind::bias_gradient:
      return bias_gradient<Scalar>(on.template shape<models::RowsShape>(), on.in(0), on.out(0),
                                   on.write(0), count);
    case OperationKind::embed_tokens:
      return embed(on, model.class_token, count);
    case OperationKind::embed_tokens_gradient:
      return embed_gradient(on, model.class_token, count);
    case OperationKind::layer_norm:
      return layer_norm<Scalar>(on.template shape<models::RowsShape>(), model.layer_norm_epsilon,
                                on.in(0), on.in(1), on.in(2), on.out(0), on.out(1), on.out(2),
                                count);
    case OperationKind::layer_norm_gradient:
      return layer_norm_gradient<Scalar>(on.template shape<models::RowsShape>(), on.in(0), on.in(1),
                                         on.in(2), on.in(3), on.in(4), on.out(0), on.out(1),
                                         on.out(2), on.write(1), count);
    case OperationKind::attention:
      return attention<Scalar>(on.template shape<models::AttentionShape>(), on.in(0), on.out(0),
                               on.out(1), count);
    case OperationKind::attention_gradient:
      return attention_gradient<Scalar>(on.template shape<models::AttentionShape>(), on.in(0),
                                        on.in(1), on.in(2), on.out(0), on.out(1), count);
    case OperationKind::gelu:
      return gelu<Scalar>(on.template shape<models::ElementsShape>(), model.gelu, on.in(0),
                          on.out(0), count);
    case OperationKind::gelu_gradient:
      return gelu_gradient<Scalar>(on.template shape<models::ElementsShape>(), model.gelu, on.in(0),
                                   on.in(1), on.out(0), count);
    case OperationKind::add:
      return add<Scalar>(on.template shape<models::ElementsShape>(), on.in(0), on.in(1), on.out(0),
                         count);
    case OperationKind::select_class_token:
      return select_class_token<Scalar>(on.template shape<models::TokensShape>(), on.in(0),
                                        on.out(0), count);
    case OperationKind::select_class_token_gradient:
      return select_class_token_gradient<Scalar>(on.template shape<models::TokensShape>(), on.in(0),
                                                 on.out(0), count);
    case OperationKind::cross_entropy:
      return cross_entropy<Scalar>(on.template shape<models::LossShape>(), on.in(0), on.labels(1),
                                   on.out(0), on.out(1), on.write(0), count);
    case OperationKind::cross_entropy_gradient:
      return cross_entropy_gradient<Scalar>(on.template shape<models::LossShape>(), on.in(0),
                                            on.labels(1), on.out(0), count);
    case OperationKind::mean_pool:
      return mean_pool<Scalar>(on.template shape<models::TokensShape>(), on.in(0), on.out(0),
                               count);
    case OperationKind::mean_pool_gradient:
      return mean_pool_gradient<Scalar>(on.template shape<models::TokensShape>(), on.in(0),
                                        on.out(0), count);
    default:
      return execute_update(on, program, operation, optimizer_step, count);
  }
}

template decltype(execute<float>) execute<float>;
template decltype(execute<double>) execute<double>;

}  // namespace paceline::runtime::kernels
