#include "runtime/kernels/loss.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/kernels/elementary.hpp"

namespace paceline::runtime::kernels {
namespace {

void require_classes(std::string_view kernel, std::span<const std::int32_t> labels,
                     std::int64_t classes) {
  for (const std::int32_t label : labels) {
    if (label >= 0 && label < classes) continue;
    throw core::InvariantError(std::string(kernel) + ": got label " + std::to_string(label) +
                               " (must be in 0 to " + std::to_string(classes - 1) + ")");
  }
}

/// Softmax of one row; returns -log of the label's probability.
template <class Scalar>
double row_loss(const Scalar* logits, std::int64_t classes, std::int32_t label, Scalar* p) {
  const Scalar largest = *std::max_element(logits, logits + classes);
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < classes; ++j) {
    p[j] = exp_not_positive(logits[j] - largest);
    sum += p[j];
  }
  const Scalar inverse = Scalar(1) / sum;
#pragma omp simd
  for (std::int64_t j = 0; j < classes; ++j) p[j] *= inverse;
  return std::log(static_cast<double>(sum)) - static_cast<double>(logits[label] - largest);
}

}  // namespace

template <class Scalar>
void cross_entropy(const models::LossShape& shape, std::span<const Scalar> logits,
                   std::span<const std::int32_t> labels, std::span<Scalar> loss,
                   std::span<Scalar> probabilities, Write write, models::WorkCount& count) {
  require_size("cross_entropy", "logits", logits, shape.images * shape.classes);
  require_size("cross_entropy", "labels", labels, shape.images);
  require_size("cross_entropy", "loss", loss, 1);
  require_size("cross_entropy", "probabilities", probabilities, shape.images * shape.classes);
  require_classes("cross_entropy", labels, shape.classes);
  double sum = 0;
  for (std::int64_t image = 0; image < shape.images; ++image) {
    const std::int64_t row = image * shape.classes;
    sum += row_loss(logits.data() + row, shape.classes, labels.data()[image],
                    probabilities.data() + row);
  }
  const auto weighted = static_cast<Scalar>(sum * shape.image_weight);
  loss[0] = write == Write::add ? loss[0] + weighted : weighted;
  ++count.calls;
  count_read(count, logits, labels);
  count_written(count, probabilities);
  count_updated(count, write, loss);
}

template <class Scalar>
void cross_entropy_gradient(const models::LossShape& shape, std::span<const Scalar> probabilities,
                            std::span<const std::int32_t> labels, std::span<Scalar> d_logits,
                            models::WorkCount& count) {
  require_size("cross_entropy_gradient", "probabilities", probabilities,
               shape.images * shape.classes);
  require_size("cross_entropy_gradient", "labels", labels, shape.images);
  require_size("cross_entropy_gradient", "d_logits", d_logits, shape.images * shape.classes);
  require_classes("cross_entropy_gradient", labels, shape.classes);
  const auto weight = static_cast<Scalar>(shape.image_weight);
  for (std::int64_t image = 0; image < shape.images; ++image) {
    const Scalar* const p = probabilities.data() + image * shape.classes;
    Scalar* const d = d_logits.data() + image * shape.classes;
    const std::int32_t label = labels.data()[image];
#pragma omp simd
    for (std::int64_t j = 0; j < shape.classes; ++j) d[j] = p[j] * weight;
    d[label] = (p[label] - Scalar(1)) * weight;
  }
  ++count.calls;
  count_read(count, probabilities, labels);
  count_written(count, d_logits);
}

template decltype(cross_entropy<float>) cross_entropy<float>;
template decltype(cross_entropy<double>) cross_entropy<double>;
template decltype(cross_entropy_gradient<float>) cross_entropy_gradient<float>;
template decltype(cross_entropy_gradient<double>) cross_entropy_gradient<double>;

}  // namespace paceline::runtime::kernels
