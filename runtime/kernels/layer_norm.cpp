#include "runtime/kernels/layer_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/kernels/blocks.hpp"

namespace paceline::runtime::kernels {
namespace {

template <class Scalar>
struct Moments {
  Scalar mean, rstd;
};

template <class Scalar>
Moments<Scalar> moments_of(const Scalar* x, std::int64_t width, Scalar epsilon) {
  const Scalar per_element = Scalar(1) / static_cast<Scalar>(width);
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < width; ++j) sum += x[j];
  const Scalar mean = sum * per_element;
  Scalar squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t j = 0; j < width; ++j) squares += (x[j] - mean) * (x[j] - mean);
  return {mean, Scalar(1) / std::sqrt(squares * per_element + epsilon)};
}

template <class Scalar>
void normalise(const Scalar* x, const Scalar* weight, const Scalar* bias, std::int64_t width,
               Moments<Scalar> moments, Scalar* y) {
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) {
    y[j] = (x[j] - moments.mean) * moments.rstd * weight[j] + bias[j];
  }
}

/// dx of a row; adds the row's share to d_weight and d_bias.
template <class Scalar>
void row_gradient(const Scalar* dy, const Scalar* x, const Scalar* weight, std::int64_t width,
                  Moments<Scalar> moments, Scalar* dx, Scalar* d_weight, Scalar* d_bias) {
  const Scalar mean = moments.mean;
  const Scalar rstd = moments.rstd;
  Scalar sum_g = 0;
  Scalar sum_gn = 0;
#pragma omp simd reduction(+ : sum_g, sum_gn)
  for (std::int64_t j = 0; j < width; ++j) {
    const Scalar n = (x[j] - mean) * rstd;
    const Scalar g = dy[j] * weight[j];
    sum_g += g;
    sum_gn += g * n;
    d_weight[j] += dy[j] * n;
    d_bias[j] += dy[j];
  }
  const Scalar mean_g = sum_g / static_cast<Scalar>(width);
  const Scalar mean_gn = sum_gn / static_cast<Scalar>(width);
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) {
    const Scalar n = (x[j] - mean) * rstd;
    dx[j] = rstd * (dy[j] * weight[j] - mean_g - n * mean_gn);
  }
}

}  // namespace

template <class Scalar>
void layer_norm(const models::RowsShape& shape, double epsilon, std::span<const Scalar> x,
                std::span<const Scalar> weight, std::span<const Scalar> bias, std::span<Scalar> y,
                std::span<Scalar> mean, std::span<Scalar> rstd, models::WorkCount& count) {
  const std::int64_t width = shape.width;
  require_size("layer_norm", "x", x, shape.rows * width);
  require_size("layer_norm", "weight", weight, width);
  require_size("layer_norm", "bias", bias, width);
  require_size("layer_norm", "y", y, shape.rows * width);
  require_size("layer_norm", "mean", mean, shape.rows);
  require_size("layer_norm", "rstd", rstd, shape.rows);
  const auto normalise_row = [&](std::int64_t row) {
    const Scalar* const from = x.data() + row * width;
    const Moments<Scalar> moments = moments_of(from, width, static_cast<Scalar>(epsilon));
    mean.data()[row] = moments.mean;
    rstd.data()[row] = moments.rstd;
    normalise(from, weight.data(), bias.data(), width, moments, y.data() + row * width);
  };
  for_each_block(shape.rows, rows_per_block(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) normalise_row(row);
  });
  ++count.calls;
  count_read(count, x, weight, bias);
  count_written(count, y, mean, rstd);
}

template <class Scalar>
void layer_norm_gradient(const models::RowsShape& shape, std::span<const Scalar> dy,
                         std::span<const Scalar> x, std::span<const Scalar> weight,
                         std::span<const Scalar> mean, std::span<const Scalar> rstd,
                         std::span<Scalar> dx, std::span<Scalar> d_weight, std::span<Scalar> d_bias,
                         Write write, models::WorkCount& count) {
  const std::int64_t width = shape.width;
  require_size("layer_norm_gradient", "dy", dy, shape.rows * width);
  require_size("layer_norm_gradient", "x", x, shape.rows * width);
  require_size("layer_norm_gradient", "weight", weight, width);
  require_size("layer_norm_gradient", "mean", mean, shape.rows);
  require_size("layer_norm_gradient", "rstd", rstd, shape.rows);
  require_size("layer_norm_gradient", "dx", dx, shape.rows * width);
  require_size("layer_norm_gradient", "d_weight", d_weight, width);
  require_size("layer_norm_gradient", "d_bias", d_bias, width);
  const std::int64_t rows = rows_per_partial_sum(shape.rows, width);
  const std::int64_t parts = blocks_in(shape.rows, rows);
  // [parts, 2, width]: d_weight and d_bias of each part's rows.
  std::vector<Scalar> sums(static_cast<std::size_t>(parts * 2 * width), Scalar(0));
  for_each_index(parts, parts, [&](std::int64_t part) {
    Scalar* const part_sums = sums.data() + part * 2 * width;
    for (std::int64_t row = part * rows; row < std::min(shape.rows, (part + 1) * rows); ++row) {
      row_gradient(dy.data() + row * width, x.data() + row * width, weight.data(), width,
                   Moments<Scalar>{mean.data()[row], rstd.data()[row]}, dx.data() + row * width,
                   part_sums, part_sums + width);
    }
  });
  if (write == Write::overwrite) {
    std::fill(d_weight.begin(), d_weight.end(), Scalar(0));
    std::fill(d_bias.begin(), d_bias.end(), Scalar(0));
  }
  for (std::int64_t part = 0; part < parts; ++part) {
    const Scalar* const part_sums = sums.data() + part * 2 * width;
    for (std::int64_t j = 0; j < width; ++j) d_weight.data()[j] += part_sums[j];
    for (std::int64_t j = 0; j < width; ++j) d_bias.data()[j] += part_sums[width + j];
  }
  ++count.calls;
  count_read(count, dy, x, weight, mean, rstd);
  count_written(count, dx);
  count_updated(count, write, d_weight, d_bias);
}

template decltype(layer_norm<float>) layer_norm<float>;
template decltype(layer_norm<double>) layer_norm<double>;
template decltype(layer_norm_gradient<float>) layer_norm_gradient<float>;
template decltype(layer_norm_gradient<double>) layer_norm_gradient<double>;

}  // namespace paceline::runtime::kernels
