#include "runtime/kernels/sgd.hpp"

#include <array>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

constexpr SgdSettings settings{.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.25};

TEST(Sgd, adds_decay_to_the_gradient_and_keeps_a_velocity) {
  Floats parameters{4};
  Floats velocity{0};
  models::WorkCount count;
  // g = 1 + 0.25 · 4 = 2, v = 2, p = 4 − 0.1 · 2 = 3.8.
  sgd<float>({1}, settings, Floats{1}, parameters, velocity, count);
  EXPECT_THAT(velocity, near({2}));
  EXPECT_THAT(parameters, near({3.8F}));
  // g = 1 + 0.25 · 3.8 = 1.95, v = 0.5 · 2 + 1.95 = 2.95, p = 3.8 − 0.295 = 3.505.
  sgd<float>({1}, settings, Floats{1}, parameters, velocity, count);
  EXPECT_THAT(velocity, near({2.95F}));
  EXPECT_THAT(parameters, near({3.505F}));
}

TEST(Sgd, without_momentum_keeps_nothing) {
  Floats parameters{4};
  Floats none;
  models::WorkCount count;
  SgdSettings with = settings;
  with.momentum = 0;
  sgd<float>({1}, with, Floats{1}, parameters, none, count);
  EXPECT_THAT(parameters, near({3.8F}));
  // Gradient and parameter are read, the parameter is written.
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(8), core::Bytes(4)}));
}

TEST(Sgd, counts_three_reads_and_two_writes_an_element) {
  Floats p(5), v(5);
  models::WorkCount count;
  sgd<float>({5}, settings, Floats(5), p, v, count);
  EXPECT_EQ(count,
            (models::WorkCount{1, core::Flops(0), core::Bytes(4 * 3 * 5), core::Bytes(4 * 2 * 5)}));
}

TEST(Sgd, is_the_same_for_one_and_two_threads) {
  const Floats gradients = random_values(40'001, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats parameters = random_values(40'001, 2);
    Floats velocity = random_values(40'001, 3);
    models::WorkCount count;
    sgd<float>({40'001}, settings, gradients, parameters, velocity, count);
    return std::array{parameters, velocity};
  });
}

TEST(Sgd, refuses_operands_of_another_size) {
  const std::array<std::string, 3> names{"gradients", "parameters", "velocity"};
  for (std::size_t wrong = 0; wrong < names.size(); ++wrong) {
    std::array<Floats, 3> operands{Floats(3), Floats(3), Floats(3)};
    operands.at(wrong).resize(2);
    auto& [g, p, v] = operands;
    models::WorkCount count;
    expect_size_fault([&] { sgd<float>({3}, settings, g, p, v, count); }, "sgd", names.at(wrong), 2,
                      3);
  }
}

}  // namespace
}  // namespace paceline::runtime::kernels
