#include "runtime/kernels/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

using Labels = std::vector<std::int32_t>;
constexpr models::LossShape halved{.images = 2, .classes = 2, .image_weight = 0.5};

TEST(CrossEntropy, is_the_weighted_sum_over_images) {
  // Equal logits: loss ln 2, probabilities 1/2. (ln 3, 0) with label 0: probability 3/4.
  const float log_3 = std::log(3.0F);
  Floats loss = poisoned(1);
  Floats probabilities = poisoned(4);
  models::WorkCount count;
  cross_entropy<float>(halved, Floats{7, 7, log_3, 0}, Labels{1, 0}, loss, probabilities,
                       Write::overwrite, count);
  const float expected = 0.5F * (std::numbers::ln2_v<float> + std::log(4.0F / 3.0F));
  EXPECT_NEAR(loss[0], expected, 1e-7);
  EXPECT_THAT(probabilities, near({0.5F, 0.5F, 0.75F, 0.25F}, 2e-7F));
  // 4 logits and 2 labels in; the loss and 4 probabilities out.
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (4 + 2)),
                                      core::Bytes(4 * (1 + 4))}));
  cross_entropy<float>(halved, Floats{7, 7, log_3, 0}, Labels{1, 0}, loss, probabilities,
                       Write::add, count);
  EXPECT_NEAR(loss[0], 2 * expected, 2e-7);
  EXPECT_EQ(count.bytes_read, core::Bytes(4 * (6 + 6 + 1)));
}

TEST(CrossEntropy, stands_logits_beyond_the_range_of_the_exponential) {
  // -log of e^0 / (e^1000 + e^0) is 1000.
  Floats loss = poisoned(1);
  Floats probabilities = poisoned(2);
  models::WorkCount count;
  cross_entropy<float>({.images = 1, .classes = 2, .image_weight = 1.0}, Floats{1000, 0}, Labels{1},
                       loss, probabilities, Write::overwrite, count);
  EXPECT_EQ(loss[0], 1000);
  EXPECT_EQ(probabilities, (Floats{1, 0}));
}

TEST(CrossEntropyGradient, is_probability_minus_one_at_the_label_times_the_weight) {
  Floats d_logits = poisoned(4);
  models::WorkCount count;
  cross_entropy_gradient<float>(halved, Floats{0.5F, 0.5F, 0.75F, 0.25F}, Labels{1, 0}, d_logits,
                                count);
  EXPECT_EQ(d_logits, (Floats{0.25F, -0.25F, -0.125F, 0.125F}));
  EXPECT_EQ(count,
            (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (4 + 2)), core::Bytes(4 * 4)}));
}

TEST(CrossEntropy, refuses_labels_outside_the_classes) {
  Floats logits(4), loss(1), out(4);
  models::WorkCount count;
  EXPECT_THAT(
      [&] {
        cross_entropy<float>(halved, logits, Labels{0, 2}, loss, out, Write::overwrite, count);
      },
      testing::ThrowsMessage<core::InvariantError>(
          "cross_entropy: got label 2 (must be in 0 to 1)"));
  EXPECT_THAT([&] { cross_entropy_gradient<float>(halved, logits, Labels{-1, 0}, out, count); },
              testing::ThrowsMessage<core::InvariantError>(
                  "cross_entropy_gradient: got label -1 (must be in 0 to 1)"));
}

TEST(CrossEntropy, refuses_operands_of_another_size) {
  models::WorkCount count;
  Floats four(4), one(1), wrong(3);
  const Labels two(2);
  const auto forward = [&](const Floats& logits, const Labels& labels, Floats& loss, Floats& p) {
    return [&] { cross_entropy<float>(halved, logits, labels, loss, p, Write::overwrite, count); };
  };
  const Labels three(3);
  expect_size_fault(forward(wrong, two, one, four), "cross_entropy", "logits", 3, 4);
  expect_size_fault(forward(four, three, one, four), "cross_entropy", "labels", 3, 2);
  expect_size_fault(forward(four, two, wrong, four), "cross_entropy", "loss", 3, 1);
  expect_size_fault(forward(four, two, one, wrong), "cross_entropy", "probabilities", 3, 4);
  const auto backward = [&](const Floats& p, const Labels& labels, Floats& d) {
    return [&] { cross_entropy_gradient<float>(halved, p, labels, d, count); };
  };
  const std::string name = "cross_entropy_gradient";
  expect_size_fault(backward(wrong, two, four), name, "probabilities", 3, 4);
  expect_size_fault(backward(four, three, four), name, "labels", 3, 2);
  expect_size_fault(backward(four, two, wrong), name, "d_logits", 3, 4);
}

}  // namespace
}  // namespace paceline::runtime::kernels
