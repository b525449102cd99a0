#include "runtime/kernels/matmul.hpp"

#include <gtest/gtest.h>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

using models::MatmulShape;
using models::Transpose;

// [1 2; 3 4] · [5 6; 7 8] = [1·5+2·7 1·6+2·8; 3·5+4·7 3·6+4·8] = [19 22; 43 50]
const Floats a{1, 2, 3, 4};
const Floats a_transposed{1, 3, 2, 4};
const Floats b{5, 6, 7, 8};
const Floats b_transposed{5, 7, 6, 8};
const Floats product{19, 22, 43, 50};

Floats multiplied(const MatmulShape& shape, const Floats& left, const Floats& right,
                  const Floats& bias = {}) {
  Floats c = poisoned(shape.m * shape.n);
  models::WorkCount count;
  matmul<float>(shape, left, right, bias, c, Write::overwrite, count);
  return c;
}

TEST(Matmul, multiplies_operands_stored_either_way) {
  EXPECT_EQ(multiplied({.m = 2, .n = 2, .k = 2}, a, b), product);
  EXPECT_EQ(multiplied({.m = 2, .n = 2, .k = 2, .a = Transpose::yes}, a_transposed, b), product);
  EXPECT_EQ(multiplied({.m = 2, .n = 2, .k = 2, .b = Transpose::yes}, a, b_transposed), product);
  EXPECT_EQ(multiplied({.m = 2, .n = 2, .k = 2, .a = Transpose::yes, .b = Transpose::yes},
                       a_transposed, b_transposed),
            product);
}

TEST(Matmul, reads_rectangles_in_row_major_order) {
  // [1 2 3] · [1 2; 3 4; 5 6] = [1+6+15 2+8+18] = [22 28]
  EXPECT_EQ(multiplied({.m = 1, .n = 2, .k = 3}, {1, 2, 3}, {1, 2, 3, 4, 5, 6}), (Floats{22, 28}));
}

TEST(Matmul, adds_the_bias_to_every_row) {
  EXPECT_EQ(multiplied({.m = 2, .n = 2, .k = 2}, a, b, {100, 200}), (Floats{119, 222, 143, 250}));
}

TEST(Matmul, adds_to_its_output_when_asked) {
  Floats c{1, 1, 1, 1};
  models::WorkCount count;
  matmul<float>({.m = 2, .n = 2, .k = 2}, a, b, {}, c, Write::add, count);
  EXPECT_EQ(c, (Floats{20, 23, 44, 51}));
}

/// Sizes that leave a rest in every tile; compared with the definition, in double.
class MatmulOfEveryLayout : public testing::TestWithParam<std::tuple<Transpose, Transpose>> {};

TEST_P(MatmulOfEveryLayout, is_the_definition_across_tiles) {
  const auto [a_layout, b_layout] = GetParam();
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{250, 801}, {1700, 70}}) {
    const MatmulShape shape{.m = m, .n = n, .k = 13, .a = a_layout, .b = b_layout};
    const auto left = random_values<double>(m * shape.k, 1);
    const auto right = random_values<double>(shape.k * n, 2);
    std::vector<double> c(static_cast<std::size_t>(m * n));
    models::WorkCount count;
    matmul<double>(shape, left, right, {}, c, Write::overwrite, count);
    double worst = 0;
    for (std::int64_t row = 0; row < m; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::int64_t i = 0; i < shape.k; ++i) {
          sum += left.at(static_cast<std::size_t>(a_layout == Transpose::no ? row * shape.k + i
                                                                            : i * m + row)) *
                 right.at(static_cast<std::size_t>(
                     b_layout == Transpose::no ? i * n + column : column * shape.k + i));
        }
        worst = std::max(worst, std::abs(sum - c.at(static_cast<std::size_t>(row * n + column))));
      }
    }
    EXPECT_LT(worst, 1e-13 * static_cast<double>(shape.k)) << m << " x " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, MatmulOfEveryLayout,
                         testing::Combine(testing::Values(Transpose::no, Transpose::yes),
                                          testing::Values(Transpose::no, Transpose::yes)));

TEST(Matmul, is_the_same_for_one_and_two_threads) {
  const MatmulShape shape{.m = 300, .n = 250, .k = 700, .a = Transpose::yes};
  const Floats left = random_values(shape.m * shape.k, 1);
  const Floats right = random_values(shape.k * shape.n, 2);
  expect_equal_for_one_and_two_threads([&] { return multiplied(shape, left, right); });
}

TEST(Matmul, counts_two_flops_a_multiply_add_and_each_operand_once) {
  Floats c = poisoned(6);
  models::WorkCount count;
  // 2 × 3 from k = 4: A has 8 elements, B 12, bias 3, C 6.
  matmul<float>({.m = 2, .n = 3, .k = 4}, Floats(8), Floats(12), Floats(3), c, Write::overwrite,
                count);
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(2 * 2 * 3 * 4), core::Bytes(4 * (8 + 12 + 3)),
                                      core::Bytes(4 * 6)}));
  // Adding reads C as well.
  count = {};
  matmul<float>({.m = 2, .n = 3, .k = 4}, Floats(8), Floats(12), {}, c, Write::add, count);
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(2 * 2 * 3 * 4), core::Bytes(4 * (8 + 12 + 6)),
                                      core::Bytes(4 * 6)}));
}

TEST(Matmul, refuses_operands_of_another_size) {
  const auto with = [](std::size_t left, std::size_t right, std::size_t bias, std::size_t out) {
    return [=] {
      Floats c(out);
      models::WorkCount count;
      matmul<float>({.m = 2, .n = 3, .k = 4}, Floats(left), Floats(right), Floats(bias), c,
                    Write::overwrite, count);
    };
  };
  expect_size_fault(with(7, 12, 3, 6), "matmul", "a", 7, 8);
  expect_size_fault(with(8, 13, 3, 6), "matmul", "b", 13, 12);
  expect_size_fault(with(8, 12, 2, 6), "matmul", "bias", 2, 3);
  expect_size_fault(with(8, 12, 3, 5), "matmul", "c", 5, 6);
}

TEST(Matmul, refuses_to_add_a_product_with_a_bias) {
  Floats c(4);
  models::WorkCount count;
  EXPECT_THAT(
      [&] { matmul<float>({.m = 2, .n = 2, .k = 2}, a, b, Floats(2), c, Write::add, count); },
      testing::ThrowsMessage<core::InvariantError>(
          "matmul: a product with a bias cannot be added to its output"));
}

TEST(BiasGradient, sums_the_rows) {
  Floats db = poisoned(2);
  models::WorkCount count;
  bias_gradient<float>({.rows = 3, .width = 2}, Floats{1, 10, 2, 20, 3, 30}, db, Write::overwrite,
                       count);
  EXPECT_EQ(db, (Floats{6, 60}));
  bias_gradient<float>({.rows = 3, .width = 2}, Floats{1, 10, 2, 20, 3, 30}, db, Write::add, count);
  EXPECT_EQ(db, (Floats{12, 120}));
  // Two calls read dY (6) and the second also db (2); each writes db.
  EXPECT_EQ(count, (models::WorkCount{2, core::Flops(0), core::Bytes(4 * (6 + 6 + 2)),
                                      core::Bytes(4 * (2 + 2))}));
}

TEST(BiasGradient, keeps_the_precision_of_a_hundred_thousand_rows) {
  // Ones add up exactly only while a sum stays below 2^24; tenths lose digits in one long sum.
  const std::int64_t rows = 100'000;
  Floats db = poisoned(1);
  models::WorkCount count;
  bias_gradient<float>({.rows = rows, .width = 1}, Floats(rows, 0.1F), db, Write::overwrite, count);
  const double exact = static_cast<double>(0.1F) * static_cast<double>(rows);
  EXPECT_NEAR(db[0], exact, 1e-4 * exact);
}

TEST(BiasGradient, is_the_same_for_one_and_two_threads) {
  const Floats dy = random_values(5000 * 37, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats db = poisoned(37);
    models::WorkCount count;
    bias_gradient<float>({.rows = 5000, .width = 37}, dy, db, Write::overwrite, count);
    return db;
  });
}

TEST(BiasGradient, refuses_operands_of_another_size) {
  const auto with = [](std::size_t dy, std::size_t db) {
    return [=] {
      Floats out(db);
      models::WorkCount count;
      bias_gradient<float>({.rows = 3, .width = 2}, Floats(dy), out, Write::overwrite, count);
    };
  };
  expect_size_fault(with(5, 2), "bias_gradient", "dy", 5, 6);
  expect_size_fault(with(6, 3), "bias_gradient", "db", 3, 2);
}

}  // namespace
}  // namespace paceline::runtime::kernels
