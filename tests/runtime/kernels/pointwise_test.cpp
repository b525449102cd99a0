#include "runtime/kernels/pointwise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

using core::GeluForm;

Floats gelu_of(GeluForm form, const Floats& h) {
  const auto size = static_cast<std::int64_t>(h.size());
  Floats g = poisoned(size);
  models::WorkCount count;
  gelu<float>({size}, form, h, g, count);
  return g;
}

Floats slope_of(GeluForm form, const Floats& h) {
  const auto size = static_cast<std::int64_t>(h.size());
  Floats dh = poisoned(size);
  models::WorkCount count;
  gelu_gradient<float>({size}, form, Floats(h.size(), 1.0F), h, dh, count);
  return dh;
}

/// Every thousandth from -12 to 12: the arguments on both sides of each approximation's borders.
Floats sweep() {
  Floats values;
  for (int i = -12000; i <= 12000; ++i) values.push_back(static_cast<float>(i) * 1e-3F);
  return values;
}

/// Largest |ours - reference| / max(1, |h|).
template <class Reference>
double worst_error(const Floats& h, const Floats& ours, const Reference& reference) {
  double worst = 0;
  for (std::size_t i = 0; i < h.size(); ++i) {
    const auto x = static_cast<double>(h[i]);
    worst = std::max(
        worst, std::abs(static_cast<double>(ours[i]) - reference(x)) / std::max(1.0, std::abs(x)));
  }
  return worst;
}

double normal_below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

TEST(Gelu, has_the_values_of_the_normal_table) {
  // Φ(1) = 0.8413447, Φ(2) = 0.9772499.
  EXPECT_THAT(gelu_of(GeluForm::exact, {0, 1, -1, 2, -2}),
              near({0, 0.8413447F, -0.1586553F, 2 * 0.9772499F, -2 * 0.0227501F}, 3e-7F));
}

TEST(Gelu, is_as_exact_as_float_allows_everywhere) {
  const Floats h = sweep();
  EXPECT_LT(
      worst_error(h, gelu_of(GeluForm::exact, h), [](double x) { return x * normal_below(x); }),
      1.4e-7);
}

TEST(GeluGradient, is_as_exact_as_float_allows_everywhere) {
  const Floats h = sweep();
  EXPECT_LT(worst_error(h, slope_of(GeluForm::exact, h),
                        [](double x) { return normal_below(x) + x * normal_density(x); }),
            2e-7);
}

TEST(Gelu, of_the_tanh_form_is_its_formula) {
  const Floats h = sweep();
  const double factor = std::sqrt(2 / std::numbers::pi);
  const auto inner = [&](double x) { return factor * (x + 0.044715 * x * x * x); };
  EXPECT_LT(worst_error(h, gelu_of(GeluForm::tanh, h),
                        [&](double x) { return x / 2 * (1 + std::tanh(inner(x))); }),
            2e-7);
  EXPECT_LT(worst_error(h, slope_of(GeluForm::tanh, h),
                        [&](double x) {
                          const double t = std::tanh(inner(x));
                          return (1 + t) / 2 +
                                 x / 2 * (1 - t * t) * factor * (1 + 3 * 0.044715 * x * x);
                        }),
            5e-7);
}

TEST(Gelu, gives_an_element_the_same_value_wherever_it_stands) {
  // Vector registers, their rest and a lone element: one arithmetic.
  const Floats h = sweep();
  const Floats together = gelu_of(GeluForm::exact, h);
  for (const std::size_t i : {std::size_t{0}, std::size_t{11000}, h.size() - 1}) {
    EXPECT_EQ(gelu_of(GeluForm::exact, {h[i]})[0], together[i]) << h[i];
  }
}

TEST(Gelu, passes_nan_on) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(gelu_of(GeluForm::exact, {nan})[0]));
  EXPECT_TRUE(std::isnan(slope_of(GeluForm::exact, {nan})[0]));
  EXPECT_TRUE(std::isnan(gelu_of(GeluForm::tanh, {nan})[0]));
}

TEST(GeluGradient, multiplies_the_slope_by_what_comes_in) {
  // The slope at 0 is Φ(0) = 1/2, at 1 Φ(1) + φ(1) = 0.8413447 + 0.2419707.
  Floats dh = poisoned(2);
  models::WorkCount count;
  gelu_gradient<float>({2}, GeluForm::exact, Floats{6, 2}, Floats{0, 1}, dh, count);
  EXPECT_THAT(dh, near({3, 2 * 1.0833154F}, 4e-7F));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(16), core::Bytes(8)}));
}

TEST(Add, adds) {
  Floats sum = poisoned(3);
  models::WorkCount count;
  add<float>({3}, Floats{1, 2, 3}, Floats{10, 20, 30}, sum, count);
  EXPECT_EQ(sum, (Floats{11, 22, 33}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(24), core::Bytes(12)}));
}

TEST(PointwiseKernels, are_the_same_for_one_and_two_threads) {
  const Floats h = random_values(70'001, 1);
  expect_equal_for_one_and_two_threads([&] { return gelu_of(GeluForm::exact, h); });
  expect_equal_for_one_and_two_threads([&] { return slope_of(GeluForm::exact, h); });
  expect_equal_for_one_and_two_threads([&] {
    Floats sum = poisoned(70'001);
    models::WorkCount count;
    add<float>({70'001}, h, h, sum, count);
    return sum;
  });
}

TEST(PointwiseKernels, refuse_operands_of_another_size) {
  models::WorkCount count;
  Floats right(3), wrong(4);
  const auto form = GeluForm::exact;
  expect_size_fault([&] { gelu<float>({3}, form, wrong, right, count); }, "gelu", "h", 4, 3);
  expect_size_fault([&] { gelu<float>({3}, form, right, wrong, count); }, "gelu", "g", 4, 3);
  expect_size_fault([&] { gelu_gradient<float>({3}, form, wrong, right, right, count); },
                    "gelu_gradient", "dg", 4, 3);
  expect_size_fault([&] { gelu_gradient<float>({3}, form, right, wrong, right, count); },
                    "gelu_gradient", "h", 4, 3);
  expect_size_fault([&] { gelu_gradient<float>({3}, form, right, right, wrong, count); },
                    "gelu_gradient", "dh", 4, 3);
  expect_size_fault([&] { add<float>({3}, wrong, right, right, count); }, "add", "a", 4, 3);
  expect_size_fault([&] { add<float>({3}, right, wrong, right, count); }, "add", "b", 4, 3);
  expect_size_fault([&] { add<float>({3}, right, right, wrong, count); }, "add", "sum", 4, 3);
}

}  // namespace
}  // namespace paceline::runtime::kernels
