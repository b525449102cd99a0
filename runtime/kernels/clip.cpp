#include "runtime/kernels/clip.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/blocks.hpp"

namespace paceline::runtime::kernels {

template <class Scalar>
void gradient_norm(const models::ElementsShape& shape, std::span<const Scalar> gradients,
                   std::span<Scalar> square, models::WorkCount& count) {
  require_size("gradient_norm", "gradients", gradients, shape.elements);
  require_size("gradient_norm", "square", square, 1);
  std::vector<double> sums(static_cast<std::size_t>(blocks_in(shape.elements, elements_per_block)));
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    const Scalar* const g = gradients.data();
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = begin; i < end; ++i) {
      const auto value = static_cast<double>(g[i]);
      sum += value * value;
    }
    sums[static_cast<std::size_t>(begin / elements_per_block)] = sum;
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  square[0] = static_cast<Scalar>(sum);
  ++count.calls;
  count_read(count, gradients);
  count_written(count, square);
}

template <class Scalar>
void clip_coefficient(const models::ElementsShape& shape, double clip_norm,
                      std::span<const Scalar> squares, std::span<Scalar> coefficient,
                      models::WorkCount& count) {
  require_size("clip_coefficient", "squares", squares, shape.elements);
  require_size("clip_coefficient", "coefficient", coefficient, 1);
  constexpr double epsilon = 1e-6;
  double sum = 0;
  for (const Scalar square : squares) sum += static_cast<double>(square);
  coefficient[0] = static_cast<Scalar>(std::min(1.0, clip_norm / (std::sqrt(sum) + epsilon)));
  ++count.calls;
  count_read(count, squares);
  count_written(count, coefficient);
}

template <class Scalar>
void scale(const models::ElementsShape& shape, std::span<const Scalar> coefficient,
           std::span<Scalar> values, models::WorkCount& count) {
  require_size("scale", "values", values, shape.elements);
  require_size("scale", "coefficient", coefficient, 1);
  const Scalar factor = coefficient[0];
  for_each_block(shape.elements, elements_per_block, [&](std::int64_t begin, std::int64_t end) {
    Scalar* const v = values.data();
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) v[i] *= factor;
  });
  ++count.calls;
  count_read(count, coefficient);
  count_updated(count, Write::add, values);
}

template decltype(gradient_norm<float>) gradient_norm<float>;
template decltype(gradient_norm<double>) gradient_norm<double>;
template decltype(clip_coefficient<float>) clip_coefficient<float>;
template decltype(clip_coefficient<double>) clip_coefficient<double>;
template decltype(scale<float>) scale<float>;
template decltype(scale<double>) scale<double>;

}  // namespace paceline::runtime::kernels
