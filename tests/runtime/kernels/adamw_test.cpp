#include "runtime/kernels/adamw.hpp"

#include <gtest/gtest.h>

#include <array>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

constexpr models::OptimizerSettings settings{.learning_rate = 0.1,
                                             .beta1 = 0.9,
                                             .beta2 = 0.999,
                                             .epsilon = 0.0,
                                             .weight_decay = 0.5,
                                             .clip_norm = {}};

struct State {
  Floats parameters, first, second;
};

void step_on(State& state, const models::OptimizerSettings& with, std::int64_t step,
             const Floats& gradients) {
  models::WorkCount count;
  adamw<float>({static_cast<std::int64_t>(gradients.size())}, with, step, gradients,
               state.parameters, state.first, state.second, count);
}

TEST(AdamW, decays_first_and_corrects_the_bias_from_step_one) {
  // A constant gradient g has corrected moments g and g² at every step, so each step moves by the
  // learning rate against g's sign, after the decay by 1 - 0.1·0.5 = 0.95.
  State state{{1, 1}, {0, 0}, {0, 0}};
  step_on(state, settings, 1, {1, -3});
  EXPECT_THAT(state.parameters, near({0.95F - 0.1F, 0.95F + 0.1F}));
  EXPECT_THAT(state.first, near({0.1F, -0.3F}));      // (1 - 0.9) · g
  EXPECT_THAT(state.second, near({0.001F, 0.009F}));  // (1 - 0.999) · g²
  step_on(state, settings, 2, {1, -3});
  EXPECT_THAT(state.parameters, near({0.95F * 0.85F - 0.1F, 0.95F * 1.05F + 0.1F}));
}

TEST(AdamW, adds_epsilon_to_the_corrected_root) {
  // Step 1: corrected root |g| = 1, epsilon 1: half a step. No decay.
  models::OptimizerSettings with = settings;
  with.epsilon = 1.0;
  with.weight_decay = 0.0;
  State state{{1}, {0}, {0}};
  step_on(state, with, 1, {1});
  EXPECT_THAT(state.parameters, near({1 - 0.1F / 2}));
}

TEST(AdamW, only_decays_where_the_gradient_has_always_been_zero) {
  models::OptimizerSettings with = settings;
  with.epsilon = 1e-8;
  State state{{2}, {0}, {0}};
  step_on(state, with, 1, {0});
  EXPECT_THAT(state.parameters, near({2 * 0.95F}));
}

TEST(AdamW, counts_four_reads_and_three_writes_an_element) {
  Floats g(5), p(5), m(5), v(5);
  models::WorkCount count;
  adamw<float>({5}, settings, 1, g, p, m, v, count);
  EXPECT_EQ(count,
            (models::WorkCount{1, core::Flops(0), core::Bytes(4 * 4 * 5), core::Bytes(4 * 3 * 5)}));
}

TEST(AdamW, is_the_same_for_one_and_two_threads) {
  const Floats gradients = random_values(40'001, 1);
  expect_equal_for_one_and_two_threads([&] {
    State state{random_values(40'001, 2), Floats(40'001), Floats(40'001)};
    models::OptimizerSettings with = settings;
    with.epsilon = 1e-8;
    step_on(state, with, 1, gradients);
    step_on(state, with, 2, gradients);
    return std::array{state.parameters, state.first, state.second};
  });
}

TEST(AdamW, refuses_a_step_before_the_first) {
  State state{{1}, {0}, {0}};
  EXPECT_THAT([&] { step_on(state, settings, 0, {1}); },
              testing::ThrowsMessage<core::InvariantError>("adamw: got step 0 (must be > 0)"));
}

TEST(AdamW, refuses_operands_of_another_size) {
  const std::array<std::string, 4> names{"gradients", "parameters", "first_moment",
                                         "second_moment"};
  for (std::size_t wrong = 0; wrong < names.size(); ++wrong) {
    std::array<Floats, 4> operands{Floats(3), Floats(3), Floats(3), Floats(3)};
    operands.at(wrong).resize(2);
    auto& [g, p, m, v] = operands;
    models::WorkCount count;
    expect_size_fault([&] { adamw<float>({3}, settings, 1, g, p, m, v, count); }, "adamw",
                      names.at(wrong), 2, 3);
  }
}

}  // namespace
}  // namespace paceline::runtime::kernels
