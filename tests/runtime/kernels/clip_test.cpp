#include "runtime/kernels/clip.hpp"

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

TEST(GradientNorm, is_the_sum_of_squares) {
  Floats square = poisoned(1);
  models::WorkCount count;
  gradient_norm<float>({3}, Floats{1, -2, 3}, square, count);
  EXPECT_EQ(square, (Floats{14}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(12), core::Bytes(4)}));
}

TEST(GradientNorm, loses_no_small_squares_beside_a_large_one) {
  // 4096² = 2^24 is where adding 1 changes no fp32 number; in double 2^24 + 64 is exact.
  Floats gradients(65, 1.0F);
  gradients[0] = 4096;
  Floats square = poisoned(1);
  models::WorkCount count;
  gradient_norm<float>({65}, gradients, square, count);
  EXPECT_EQ(square, (Floats{16777216.0F + 64.0F}));
}

TEST(GradientNorm, is_the_same_for_one_and_two_threads) {
  const Floats gradients = random_values(100'001, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats square = poisoned(1);
    models::WorkCount count;
    gradient_norm<float>({100'001}, gradients, square, count);
    return square;
  });
}

TEST(ClipCoefficient, brings_the_common_norm_down_to_the_limit_and_never_up) {
  Floats coefficient = poisoned(1);
  models::WorkCount count;
  // √(9 + 16) = 5, limit 2: 2 / (5 + 1e-6) = 0.4 within rounding.
  clip_coefficient<float>({2}, 2.0, Floats{9, 16}, coefficient, count);
  EXPECT_THAT(coefficient, near({0.4F}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(8), core::Bytes(4)}));
  clip_coefficient<float>({2}, 6.0, Floats{9, 16}, coefficient, count);
  EXPECT_EQ(coefficient, (Floats{1}));
  // Zero gradients: 1 / 1e-6, which is above one.
  clip_coefficient<float>({1}, 1.0, Floats{0}, coefficient, count);
  EXPECT_EQ(coefficient, (Floats{1}));
}

TEST(Scale, multiplies_in_place) {
  Floats values{1, -2, 4};
  models::WorkCount count;
  scale<float>({3}, Floats{0.5}, values, count);
  EXPECT_EQ(values, (Floats{0.5, -1, 2}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(12 + 4), core::Bytes(12)}));
}

TEST(ClipKernels, refuse_operands_of_another_size) {
  Floats three(3), one(1), none;
  models::WorkCount count;
  expect_size_fault([&] { gradient_norm<float>({2}, three, one, count); }, "gradient_norm",
                    "gradients", 3, 2);
  expect_size_fault([&] { gradient_norm<float>({3}, three, none, count); }, "gradient_norm",
                    "square", 0, 1);
  expect_size_fault([&] { clip_coefficient<float>({2}, 1.0, three, one, count); },
                    "clip_coefficient", "squares", 3, 2);
  expect_size_fault([&] { clip_coefficient<float>({3}, 1.0, three, none, count); },
                    "clip_coefficient", "coefficient", 0, 1);
  expect_size_fault([&] { scale<float>({2}, one, three, count); }, "scale", "values", 3, 2);
  expect_size_fault([&] { scale<float>({3}, none, three, count); }, "scale", "coefficient", 0, 1);
}

}  // namespace
}  // namespace paceline::runtime::kernels
