#include "runtime/kernels/layer_norm.hpp"

#include <gtest/gtest.h>

#include <array>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

struct Normalised {
  Floats y, mean, rstd;
  models::WorkCount count;
};

Normalised normalised(const models::RowsShape& shape, double epsilon, const Floats& x,
                      const Floats& weight, const Floats& bias) {
  Normalised result{
      poisoned(shape.rows * shape.width), poisoned(shape.rows), poisoned(shape.rows), {}};
  layer_norm<float>(shape, epsilon, x, weight, bias, result.y, result.mean, result.rstd,
                    result.count);
  return result;
}

TEST(LayerNorm, uses_the_biased_variance) {
  // (-1, 1): mean 0, variance (1 + 1) / 2 = 1 (the unbiased one would be 2). (4, 8): mean 6,
  // variance 4, rstd 1/2, so it normalises to (-1, 1) too.
  const Normalised result =
      normalised({.rows = 2, .width = 2}, 0.0, {-1, 1, 4, 8}, {2, 3}, {10, 20});
  EXPECT_EQ(result.mean, (Floats{0, 6}));
  EXPECT_EQ(result.rstd, (Floats{1, 0.5F}));
  EXPECT_EQ(result.y, (Floats{8, 23, 8, 23}));  // -1·2 + 10, 1·3 + 20
  EXPECT_EQ(result.count, (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (4 + 2 + 2)),
                                             core::Bytes(4 * (4 + 2 + 2))}));
}

TEST(LayerNorm, adds_epsilon_under_the_root) {
  // Variance 1, epsilon 3: rstd = 1 / √4.
  const Normalised result = normalised({.rows = 1, .width = 2}, 3.0, {-1, 1}, {1, 1}, {0, 0});
  EXPECT_EQ(result.rstd, Floats{0.5F});
  EXPECT_EQ(result.y, (Floats{-0.5F, 0.5F}));
}

TEST(LayerNorm, keeps_a_small_variance_on_a_large_mean) {
  // Mean of squares minus square of mean would be 1e8 + 1 - 1e8 = 0 in fp32.
  const Normalised result = normalised({.rows = 1, .width = 4}, 0.0, {9999, 10001, 9999, 10001},
                                       Floats(4, 1.0F), Floats(4));
  EXPECT_EQ(result.y, (Floats{-1, 1, -1, 1}));
}

struct Gradients {
  Floats dx, d_weight, d_bias;
};

TEST(LayerNormGradient, is_the_derived_one) {
  // x = (-1, -1, 1, 1): mean 0, rstd 1, n = x. dy = (4, 0, 0, 0), weight 1, so g = dy, its mean 1,
  // mean of g·n = -1. dx = g - 1 + n = (4-1-1, 0-1-1, 0-1+1, 0-1+1).
  // d_weight = dy·n, d_bias = dy.
  const Floats x{-1, -1, 1, 1};
  const Floats dy{4, 0, 0, 0};
  Gradients out{poisoned(4), poisoned(4), poisoned(4)};
  models::WorkCount count;
  const models::RowsShape shape{.rows = 1, .width = 4};
  layer_norm_gradient<float>(shape, dy, x, Floats(4, 1.0F), Floats{0}, Floats{1}, out.dx,
                             out.d_weight, out.d_bias, Write::overwrite, count);
  EXPECT_EQ(out.dx, (Floats{2, -2, 0, 0}));
  EXPECT_EQ(out.d_weight, (Floats{-4, 0, 0, 0}));
  EXPECT_EQ(out.d_bias, dy);
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (4 + 4 + 4 + 1 + 1)),
                                      core::Bytes(4 * (4 + 4 + 4))}));
  layer_norm_gradient<float>(shape, dy, x, Floats(4, 1.0F), Floats{0}, Floats{1}, out.dx,
                             out.d_weight, out.d_bias, Write::add, count);
  EXPECT_EQ(out.dx, (Floats{2, -2, 0, 0}));  // never added to
  EXPECT_EQ(out.d_weight, (Floats{-8, 0, 0, 0}));
  EXPECT_EQ(out.d_bias, (Floats{8, 0, 0, 0}));
  EXPECT_EQ(count.bytes_read, core::Bytes(4 * (14 + 14 + 4 + 4)));
}

TEST(LayerNorm, and_its_gradient_are_the_same_for_one_and_two_threads) {
  const models::RowsShape shape{.rows = 3000, .width = 50};
  const Floats x = random_values(3000 * 50, 1);
  const Floats dy = random_values(3000 * 50, 2);
  const Floats weight = random_values(50, 3);
  expect_equal_for_one_and_two_threads([&] {
    const Normalised forward = normalised(shape, 1e-6, x, weight, Floats(50));
    Gradients out{poisoned(3000 * 50), poisoned(50), poisoned(50)};
    models::WorkCount count;
    layer_norm_gradient<float>(shape, dy, x, weight, forward.mean, forward.rstd, out.dx,
                               out.d_weight, out.d_bias, Write::overwrite, count);
    return std::array{forward.y, out.dx, out.d_weight, out.d_bias};
  });
}

TEST(LayerNorm, refuses_operands_of_another_size) {
  const std::array<std::string, 6> names{"x", "weight", "bias", "y", "mean", "rstd"};
  const std::array needed{6, 2, 2, 6, 3, 3};
  for (std::size_t wrong = 0; wrong < names.size(); ++wrong) {
    std::array<Floats, 6> operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      operands.at(i).resize(static_cast<std::size_t>(needed.at(i) + (i == wrong ? 1 : 0)));
    }
    auto& [x, weight, bias, y, mean, rstd] = operands;
    models::WorkCount count;
    expect_size_fault(
        [&] {
          layer_norm<float>({.rows = 3, .width = 2}, 0.0, x, weight, bias, y, mean, rstd, count);
        },
        "layer_norm", names.at(wrong), needed.at(wrong) + 1, needed.at(wrong));
  }
}

TEST(LayerNormGradient, refuses_operands_of_another_size) {
  const std::array<std::string, 8> names{"dy",   "x",  "weight",   "mean",
                                         "rstd", "dx", "d_weight", "d_bias"};
  const std::array needed{6, 6, 2, 3, 3, 6, 2, 2};
  for (std::size_t wrong = 0; wrong < names.size(); ++wrong) {
    std::array<Floats, 8> operands;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      operands.at(i).resize(static_cast<std::size_t>(needed.at(i) + (i == wrong ? 1 : 0)));
    }
    auto& [dy, x, weight, mean, rstd, dx, d_weight, d_bias] = operands;
    models::WorkCount count;
    expect_size_fault(
        [&] {
          layer_norm_gradient<float>({.rows = 3, .width = 2}, dy, x, weight, mean, rstd, dx,
                                     d_weight, d_bias, Write::overwrite, count);
        },
        "layer_norm_gradient", names.at(wrong), needed.at(wrong) + 1, needed.at(wrong));
  }
}

}  // namespace
}  // namespace paceline::runtime::kernels
