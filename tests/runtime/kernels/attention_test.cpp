#include "runtime/kernels/attention.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

using models::AttentionShape;

constexpr AttentionShape tiny{.batch = 1, .heads = 1, .tokens = 2, .head_dimension = 1};
const float log_3 = std::log(3.0F);
// Rows are tokens, each (q, k, v): q = (ln 3, 0), k = (1, 0), v = (4, 8); scale = 1.
// Scores of token 0: (ln 3, 0), softmax (3, 1) / 4; of token 1: (0, 0), softmax (1, 1) / 2.
const Floats tiny_qkv{log_3, 1, 4, 0, 0, 8};
const Floats tiny_probabilities{0.75F, 0.25F, 0.5F, 0.5F};

struct Attended {
  Floats out, probabilities;
  models::WorkCount count;
};

Attended attended(const AttentionShape& s, const Floats& qkv) {
  const std::int64_t heads = s.batch * s.heads;
  Attended result{
      poisoned(heads * s.tokens * s.head_dimension), poisoned(heads * s.tokens * s.tokens), {}};
  attention<float>(s, qkv, result.out, result.probabilities, result.count);
  return result;
}

TEST(Attention, weighs_values_by_the_softmax_of_scores) {
  const Attended result = attended(tiny, tiny_qkv);
  EXPECT_THAT(result.probabilities, near(tiny_probabilities));
  EXPECT_THAT(result.out, near({0.75F * 4 + 0.25F * 8, 0.5F * 4 + 0.5F * 8}));
  // Two products of 2 × 2 × 1; qkv 6 elements, out 2, probabilities 4.
  EXPECT_EQ(result.count, (models::WorkCount{1, core::Flops(2 * 2 * 2 * 2 * 1), core::Bytes(4 * 6),
                                             core::Bytes(4 * (2 + 4))}));
}

TEST(Attention, scales_scores_by_the_root_of_the_head_dimension) {
  // Head dimension 4, scale 1/2: q·k = 2 ln 3 gives a score of ln 3 again.
  const AttentionShape shape{.batch = 1, .heads = 1, .tokens = 2, .head_dimension = 4};
  const Floats qkv{2 * log_3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0,   // token 0: q, k, v
                   0,         0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0};  // token 1
  EXPECT_THAT(attended(shape, qkv).probabilities, near(tiny_probabilities));
}

TEST(Attention, keeps_images_and_heads_apart) {
  // 2 images, 2 heads, 2 tokens, head dimension 1; q = k = 0, so each output is the mean of its
  // own head's values. Rows are (q0, q1, k0, k1, v0, v1) for heads 0 and 1.
  const AttentionShape shape{.batch = 2, .heads = 2, .tokens = 2, .head_dimension = 1};
  const Floats qkv{0, 0, 0, 0, 1,   10,   0, 0, 0, 0, 3,   30,     // image 0
                   0, 0, 0, 0, 100, 1000, 0, 0, 0, 0, 300, 3000};  // image 1
  EXPECT_EQ(attended(shape, qkv).out, (Floats{2, 20, 2, 20, 200, 2000, 200, 2000}));
}

TEST(Attention, stands_scores_beyond_the_range_of_the_exponential) {
  // Scores (200, 0) and (0, 0): e^200 overflows fp32, e^-200 is zero.
  const Attended result = attended(tiny, {200, 1, 4, 0, 0, 8});
  EXPECT_EQ(result.probabilities, (Floats{1, 0, 0.5F, 0.5F}));
  EXPECT_EQ(result.out, (Floats{4, 6}));
}

TEST(Attention, passes_nan_on) {
  const Attended result = attended(tiny, {std::numeric_limits<float>::quiet_NaN(), 1, 4, 0, 0, 8});
  EXPECT_TRUE(std::isnan(result.out[0]));
  EXPECT_EQ(result.out[1], 6);
}

TEST(AttentionGradient, is_the_derived_one) {
  // dO = (1, 0): dV = Pᵀ·dO = (3/4, 1/4). dP of token 0 = v = (4, 8), Σ P∘dP = 5,
  // dS = (3/4·(4-5), 1/4·(8-5)) = (-3/4, 3/4), of token 1 zero.
  // dQ of token 0 = -3/4·1 + 3/4·0; dK = (-3/4 ln 3, 3/4 ln 3).
  Floats d_qkv = poisoned(6);
  Floats workspace = poisoned(4);
  models::WorkCount count;
  attention_gradient<float>(tiny, Floats{1, 0}, tiny_qkv, tiny_probabilities, d_qkv, workspace,
                            count);
  EXPECT_THAT(d_qkv, near({-0.75F, -0.75F * log_3, 0.75F, 0, 0.75F * log_3, 0.25F}));
  // Four products; d out 2, qkv 6, probabilities 4; d qkv 6. The workspace is not counted.
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(4 * 2 * 2 * 2 * 1),
                                      core::Bytes(4 * (2 + 6 + 4)), core::Bytes(4 * 6)}));
}

TEST(Attention, and_its_gradient_are_the_same_for_one_and_two_threads) {
  const AttentionShape shape{.batch = 5, .heads = 3, .tokens = 37, .head_dimension = 16};
  const std::int64_t values = 5 * 3 * 37 * 16;
  const Floats qkv = random_values(3 * values, 1);
  const Floats d_out = random_values(values, 2);
  expect_equal_for_one_and_two_threads([&] {
    const Attended forward = attended(shape, qkv);
    Floats d_qkv = poisoned(3 * values);
    Floats workspace = poisoned(37 * 37);
    models::WorkCount count;
    attention_gradient<float>(shape, d_out, qkv, forward.probabilities, d_qkv, workspace, count);
    return std::array{forward.out, forward.probabilities, d_qkv};
  });
}

TEST(Attention, refuses_operands_of_another_size) {
  const AttentionShape shape{.batch = 1, .heads = 2, .tokens = 3, .head_dimension = 4};
  models::WorkCount count;
  Floats qkv(72), out(24), probabilities(18), workspace(9), wrong(1);
  const auto forward = [&](const Floats& in, Floats& o, Floats& p) {
    return [&] { attention<float>(shape, in, o, p, count); };
  };
  expect_size_fault(forward(wrong, out, probabilities), "attention", "qkv", 1, 72);
  expect_size_fault(forward(qkv, wrong, probabilities), "attention", "out", 1, 24);
  expect_size_fault(forward(qkv, out, wrong), "attention", "probabilities", 1, 18);
  const auto backward = [&](const Floats& d_out, const Floats& in, const Floats& p, Floats& d_qkv,
                            Floats& w) {
    return [&] { attention_gradient<float>(shape, d_out, in, p, d_qkv, w, count); };
  };
  Floats d_qkv(72);
  const std::string name = "attention_gradient";
  expect_size_fault(backward(wrong, qkv, probabilities, d_qkv, workspace), name, "d_out", 1, 24);
  expect_size_fault(backward(out, wrong, probabilities, d_qkv, workspace), name, "qkv", 1, 72);
  expect_size_fault(backward(out, qkv, wrong, d_qkv, workspace), name, "probabilities", 1, 18);
  expect_size_fault(backward(out, qkv, probabilities, wrong, workspace), name, "d_qkv", 1, 72);
  expect_size_fault(backward(out, qkv, probabilities, d_qkv, wrong), name, "workspace", 1, 9);
}

}  // namespace
}  // namespace paceline::runtime::kernels
