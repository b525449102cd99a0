#include "runtime/kernels/attention.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/blocks.hpp"
#include "runtime/kernels/elementary.hpp"

namespace paceline::runtime::kernels {
namespace {

using models::AttentionShape;

template <class Scalar>
using RowMajor = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using ConstView = Eigen::Map<const RowMajor<Scalar>, Eigen::Unaligned, Eigen::OuterStride<>>;
template <class Scalar>
using View = Eigen::Map<RowMajor<Scalar>, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Where a head of an image lies in the tensors of an attention operation.
class Head {
 public:
  Head(const AttentionShape& shape, std::int64_t index)
      : shape_(shape), index_(index), image_(index / shape.heads), head_(index % shape.heads) {}

  enum class Part : std::int64_t { query = 0, key = 1, value = 2 };

  template <class View_, class Scalar>
  [[nodiscard]] View_ part(Scalar* qkv, Part part) const {
    const std::int64_t row = 3 * shape_.heads * shape_.head_dimension;
    const std::int64_t column =
        (static_cast<std::int64_t>(part) * shape_.heads + head_) * shape_.head_dimension;
    return View_(qkv + image_ * shape_.tokens * row + column, shape_.tokens, shape_.head_dimension,
                 Eigen::OuterStride<>(row));
  }
  template <class View_, class Scalar>
  [[nodiscard]] View_ output(Scalar* out) const {
    const std::int64_t row = shape_.heads * shape_.head_dimension;
    return View_(out + image_ * shape_.tokens * row + head_ * shape_.head_dimension, shape_.tokens,
                 shape_.head_dimension, Eigen::OuterStride<>(row));
  }
  template <class Scalar>
  [[nodiscard]] Scalar* square(Scalar* probabilities) const {
    return probabilities + index_ * shape_.tokens * shape_.tokens;
  }

 private:
  const AttentionShape& shape_;
  std::int64_t index_, image_, head_;
};

template <class Scalar>
Scalar scale_of(const AttentionShape& shape) {
  return Scalar(1) / std::sqrt(static_cast<Scalar>(shape.head_dimension));
}

template <class Scalar>
View<Scalar> square_view(Scalar* values, std::int64_t tokens) {
  return View<Scalar>(values, tokens, tokens, Eigen::OuterStride<>(tokens));
}

/// Softmax of each row of a dense [tokens, tokens] block, in place. The exponentials are taken over
/// the whole block at once: rows of 17 would leave most of a vector register empty.
template <class Scalar>
void softmax_rows(Scalar* values, std::int64_t tokens) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    Scalar* const row = values + i * tokens;
    const Scalar largest =
        Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>>(row, tokens).maxCoeff();
#pragma omp simd
    for (std::int64_t j = 0; j < tokens; ++j) row[j] -= largest;
  }
#pragma omp simd
  for (std::int64_t j = 0; j < tokens * tokens; ++j) values[j] = exp_not_positive(values[j]);
  for (std::int64_t i = 0; i < tokens; ++i) {
    Scalar* const row = values + i * tokens;
    Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < tokens; ++j) sum += row[j];
    const Scalar inverse = Scalar(1) / sum;
#pragma omp simd
    for (std::int64_t j = 0; j < tokens; ++j) row[j] *= inverse;
  }
}

/// dS = P ∘ (dP - row sums of P ∘ dP), in the place of dP.
template <class Scalar>
void softmax_gradient_rows(const Scalar* probabilities, std::int64_t tokens, Scalar* gradient) {
  for (std::int64_t i = 0; i < tokens; ++i) {
    const Scalar* const p = probabilities + i * tokens;
    Scalar* const g = gradient + i * tokens;
    Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < tokens; ++j) sum += p[j] * g[j];
#pragma omp simd
    for (std::int64_t j = 0; j < tokens; ++j) g[j] = p[j] * (g[j] - sum);
  }
}

template <class Scalar>
void head_forward(const AttentionShape& shape, std::int64_t index, const Scalar* qkv, Scalar* out,
                  Scalar* probabilities) {
  const Head head(shape, index);
  const auto query = head.part<ConstView<Scalar>>(qkv, Head::Part::query);
  const auto key = head.part<ConstView<Scalar>>(qkv, Head::Part::key);
  const auto value = head.part<ConstView<Scalar>>(qkv, Head::Part::value);
  Scalar* const square = head.square(probabilities);
  View<Scalar> p = square_view(square, shape.tokens);
  p.noalias() = scale_of<Scalar>(shape) * query * key.transpose();
  softmax_rows(square, shape.tokens);
  head.output<View<Scalar>>(out).noalias() = p * value;
}

template <class Scalar>
void head_backward(const AttentionShape& shape, std::int64_t index, const Scalar* d_out,
                   const Scalar* qkv, const Scalar* probabilities, Scalar* d_qkv,
                   Scalar* workspace) {
  using Part = Head::Part;
  const Head head(shape, index);
  const auto d_output = head.output<ConstView<Scalar>>(d_out);
  const Scalar* const square = head.square(probabilities);
  const ConstView<Scalar> p(square, shape.tokens, shape.tokens, Eigen::OuterStride<>(shape.tokens));
  View<Scalar> ds = square_view(workspace, shape.tokens);
  head.part<View<Scalar>>(d_qkv, Part::value).noalias() = p.transpose() * d_output;
  ds.noalias() = d_output * head.part<ConstView<Scalar>>(qkv, Part::value).transpose();
  softmax_gradient_rows(square, shape.tokens, workspace);
  const Scalar scale = scale_of<Scalar>(shape);
  head.part<View<Scalar>>(d_qkv, Part::query).noalias() =
      scale * ds * head.part<ConstView<Scalar>>(qkv, Part::key);
  head.part<View<Scalar>>(d_qkv, Part::key).noalias() =
      scale * ds.transpose() * head.part<ConstView<Scalar>>(qkv, Part::query);
}

core::Flops product_flops_of_heads(const AttentionShape& shape, std::int64_t products) {
  // Q·Kᵀ and its like contract over the head dimension, P·V and its like over the tokens: the same
  // three extents.
  return shape.batch * shape.heads * products *
         product_flops(shape.tokens, shape.tokens, shape.head_dimension);
}

}  // namespace

template <class Scalar>
void attention(const AttentionShape& shape, std::span<const Scalar> qkv, std::span<Scalar> out,
               std::span<Scalar> probabilities, models::WorkCount& count) {
  const std::int64_t heads = shape.batch * shape.heads;
  const std::int64_t values = heads * shape.tokens * shape.head_dimension;
  require_size("attention", "qkv", qkv, 3 * values);
  require_size("attention", "out", out, values);
  require_size("attention", "probabilities", probabilities, heads * shape.tokens * shape.tokens);
  const core::Flops flops = product_flops_of_heads(shape, 2);
  for_each_index(heads, threads_worth(flops), [&](std::int64_t head) {
    head_forward(shape, head, qkv.data(), out.data(), probabilities.data());
  });
  ++count.calls;
  count.flops += flops;
  count_read(count, qkv);
  count_written(count, out, probabilities);
}

template <class Scalar>
void attention_gradient(const AttentionShape& shape, std::span<const Scalar> d_out,
                        std::span<const Scalar> qkv, std::span<const Scalar> probabilities,
                        std::span<Scalar> d_qkv, std::span<Scalar> workspace,
                        models::WorkCount& count) {
  const std::int64_t heads = shape.batch * shape.heads;
  const std::int64_t values = heads * shape.tokens * shape.head_dimension;
  const std::int64_t square = shape.tokens * shape.tokens;
  require_size("attention_gradient", "d_out", d_out, values);
  require_size("attention_gradient", "qkv", qkv, 3 * values);
  require_size("attention_gradient", "probabilities", probabilities, heads * square);
  require_size("attention_gradient", "d_qkv", d_qkv, 3 * values);
  require_size("attention_gradient", "workspace", workspace, square);
  // One part a thread; the heads do not depend on each other, so neither does the result on the
  // parts.
  const core::Flops flops = product_flops_of_heads(shape, 4);
  const std::int64_t parts = std::min<std::int64_t>({heads, threads_worth(flops), thread_count()});
  std::vector<Scalar> others(static_cast<std::size_t>((parts - 1) * square));
  for_each_index(parts, parts, [&](std::int64_t part) {
    Scalar* const scores = part == 0 ? workspace.data() : others.data() + (part - 1) * square;
    for (std::int64_t head = part * heads / parts; head < (part + 1) * heads / parts; ++head) {
      head_backward(shape, head, d_out.data(), qkv.data(), probabilities.data(), d_qkv.data(),
                    scores);
    }
  });
  ++count.calls;
  count.flops += flops;
  count_read(count, d_out, qkv, probabilities);
  count_written(count, d_qkv);
}

template decltype(attention<float>) attention<float>;
template decltype(attention<double>) attention<double>;
template decltype(attention_gradient<float>) attention_gradient<float>;
template decltype(attention_gradient<double>) attention_gradient<double>;

}  // namespace paceline::runtime::kernels
