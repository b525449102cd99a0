#include "runtime/kernels/tokens.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "kernel_case.hpp"

namespace paceline::runtime::kernels {
namespace {

constexpr models::TokensShape two_images{.images = 2, .tokens = 3, .width = 2};

TEST(Patchify, lays_out_patches_as_a_convolutions_weight_is) {
  // One image of 2 channels, 4 × 4, pixel = its index: channel 0 holds 0…15, channel 1 16…31.
  Floats image(32);
  std::iota(image.begin(), image.end(), 0.0F);
  Floats patches = poisoned(32);
  models::WorkCount count;
  patchify<float>({.images = 1, .channels = 2, .image_size = 4, .patch_size = 2}, image, patches,
                  count);
  EXPECT_EQ(patches, (Floats{0,  1,  4,  5,  16, 17, 20, 21,     // above left: channel 0, channel 1
                             2,  3,  6,  7,  18, 19, 22, 23,     // above right
                             8,  9,  12, 13, 24, 25, 28, 29,     // below left
                             10, 11, 14, 15, 26, 27, 30, 31}));  // below right
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(128), core::Bytes(128)}));
}

TEST(Patchify, is_the_same_for_one_and_two_threads) {
  const models::PatchShape shape{.images = 40, .channels = 3, .image_size = 32, .patch_size = 8};
  const Floats images = random_values(40 * 3 * 32 * 32, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats patches = poisoned(static_cast<std::int64_t>(images.size()));
    models::WorkCount count;
    patchify<float>(shape, images, patches, count);
    return patches;
  });
}

TEST(EmbedTokens, puts_the_class_token_first_and_adds_positions) {
  const Floats patch_tokens{1, 2, 3, 4, 5, 6, 7, 8};  // [2 images, 2 patches, 2]
  const Floats cls{100, 200};
  const Floats positions{0.5F, 0.25F, 10, 20, 30, 40};  // [3 tokens, 2]
  Floats x = poisoned(12);
  models::WorkCount count;
  embed_tokens<float>(two_images, patch_tokens, cls, positions, x, count);
  EXPECT_EQ(x, (Floats{100.5F, 200.25F, 11, 22, 33, 44, 100.5F, 200.25F, 15, 26, 37, 48}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (8 + 2 + 6)),
                                      core::Bytes(4 * 12)}));
}

const Floats dx{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};  // [2 images, 3 tokens, 2]

TEST(EmbedTokensGradient, sums_positions_over_images) {
  Floats d_patch_tokens = poisoned(8);
  Floats d_cls = poisoned(2);
  Floats d_positions = poisoned(6);
  models::WorkCount count;
  embed_tokens_gradient<float>(two_images, dx, d_patch_tokens, d_cls, d_positions, Write::overwrite,
                               count);
  EXPECT_EQ(d_patch_tokens, (Floats{3, 4, 5, 6, 30, 40, 50, 60}));
  EXPECT_EQ(d_cls, (Floats{11, 22}));
  EXPECT_EQ(d_positions, (Floats{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(4 * 12),
                                      core::Bytes(4 * (8 + 2 + 6))}));
}

TEST(EmbedTokensGradient, adds_to_the_parameters_gradients_only) {
  Floats d_patch_tokens = poisoned(8);
  Floats d_cls{1, 1};
  Floats d_positions(6, 1.0F);
  models::WorkCount count;
  embed_tokens_gradient<float>(two_images, dx, d_patch_tokens, d_cls, d_positions, Write::add,
                               count);
  EXPECT_EQ(d_patch_tokens, (Floats{3, 4, 5, 6, 30, 40, 50, 60}));
  EXPECT_EQ(d_cls, (Floats{12, 23}));
  EXPECT_EQ(d_positions, (Floats{12, 23, 34, 45, 56, 67}));
  EXPECT_EQ(count.bytes_read, core::Bytes(4 * (12 + 2 + 6)));
}

TEST(EmbedTokensGradient, is_the_same_for_one_and_two_threads) {
  const models::TokensShape shape{.images = 50, .tokens = 17, .width = 96};
  const Floats gradient = random_values(50 * 17 * 96, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats d_patch_tokens = poisoned(50 * 16 * 96);
    Floats d_cls = poisoned(96);
    Floats d_positions = poisoned(17 * 96);
    models::WorkCount count;
    embed_tokens_gradient<float>(shape, gradient, d_patch_tokens, d_cls, d_positions,
                                 Write::overwrite, count);
    d_positions.insert(d_positions.end(), d_cls.begin(), d_cls.end());
    return d_positions;
  });
}

TEST(SelectClassToken, takes_the_first_row_of_each_image) {
  Floats rows = poisoned(4);
  models::WorkCount count;
  select_class_token<float>(two_images, dx, rows, count);
  EXPECT_EQ(rows, (Floats{1, 2, 10, 20}));
  // Only the rows that it takes move.
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(16), core::Bytes(16)}));
}

TEST(SelectClassTokenGradient, is_zero_everywhere_else) {
  Floats out = poisoned(12);
  models::WorkCount count;
  select_class_token_gradient<float>(two_images, Floats{1, 2, 3, 4}, out, count);
  EXPECT_EQ(out, (Floats{1, 2, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(16), core::Bytes(48)}));
}

TEST(EmbedTokens, without_a_class_token_every_row_is_a_patch) {
  // 2 images of 3 tokens, width 2.
  const Floats patches{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Floats positions{100, 200, 300, 400, 500, 600};
  Floats x = poisoned(12);
  models::WorkCount count;
  embed_tokens<float>(two_images, patches, {}, positions, x, count);
  EXPECT_EQ(x, (Floats{101, 202, 303, 404, 505, 606, 107, 208, 309, 410, 511, 612}));
  EXPECT_EQ(count,
            (models::WorkCount{1, core::Flops(0), core::Bytes(4 * (12 + 6)), core::Bytes(4 * 12)}));
  Floats d_patches = poisoned(12);
  Floats d_positions = poisoned(6);
  models::WorkCount gradient_count;
  embed_tokens_gradient<float>(two_images, dx, d_patches, {}, d_positions, Write::overwrite,
                               gradient_count);
  EXPECT_EQ(d_patches, dx);
  EXPECT_EQ(d_positions, (Floats{11, 22, 33, 44, 55, 66}));
  EXPECT_EQ(gradient_count,
            (models::WorkCount{1, core::Flops(0), core::Bytes(4 * 12), core::Bytes(4 * (12 + 6))}));
}

TEST(MeanPool, is_the_mean_over_each_images_tokens) {
  // dx holds 1 2 | 3 4 | 5 6 and ten times that: means 3 4 and 30 40.
  Floats rows = poisoned(4);
  models::WorkCount count;
  mean_pool<float>(two_images, dx, rows, count);
  EXPECT_EQ(rows, (Floats{3, 4, 30, 40}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(48), core::Bytes(16)}));
}

TEST(MeanPoolGradient, gives_each_token_its_share) {
  Floats out = poisoned(12);
  models::WorkCount count;
  mean_pool_gradient<float>(two_images, Floats{3, 6, 9, 12}, out, count);
  EXPECT_EQ(out, (Floats{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
  EXPECT_EQ(count, (models::WorkCount{1, core::Flops(0), core::Bytes(16), core::Bytes(48)}));
}

TEST(MeanPool, is_the_same_for_one_and_two_threads) {
  const models::TokensShape shape{.images = 50, .tokens = 17, .width = 96};
  const Floats x = random_values(50 * 17 * 96, 1);
  expect_equal_for_one_and_two_threads([&] {
    Floats rows = poisoned(50 * 96);
    models::WorkCount count;
    mean_pool<float>(shape, x, rows, count);
    return rows;
  });
}

TEST(TokenKernels, refuse_operands_of_another_size) {
  models::WorkCount count;
  Floats right4(4), right2(2), right6(6), right8(8), right12(12), wrong(5);
  expect_size_fault(
      [&] {
        patchify<float>({.images = 1, .channels = 1, .image_size = 2, .patch_size = 1}, wrong,
                        right4, count);
      },
      "patchify", "images", 5, 4);
  expect_size_fault(
      [&] {
        patchify<float>({.images = 1, .channels = 1, .image_size = 2, .patch_size = 1}, right4,
                        wrong, count);
      },
      "patchify", "patches", 5, 4);
  const auto embed = [&](const Floats& patches, const Floats& cls, const Floats& positions,
                         Floats& x) {
    return [&] { embed_tokens<float>(two_images, patches, cls, positions, x, count); };
  };
  expect_size_fault(embed(wrong, right2, right6, right12), "embed_tokens", "patch_tokens", 5, 8);
  expect_size_fault(embed(right8, wrong, right6, right12), "embed_tokens", "cls_token", 5, 2);
  expect_size_fault(embed(right8, right2, wrong, right12), "embed_tokens", "pos_embed", 5, 6);
  expect_size_fault(embed(right8, right2, right6, wrong), "embed_tokens", "x", 5, 12);
  const auto gradient = [&](const Floats& d, Floats& patches, Floats& cls, Floats& positions) {
    return [&] {
      embed_tokens_gradient<float>(two_images, d, patches, cls, positions, Write::overwrite, count);
    };
  };
  const std::string name = "embed_tokens_gradient";
  expect_size_fault(gradient(wrong, right8, right2, right6), name, "dx", 5, 12);
  expect_size_fault(gradient(right12, wrong, right2, right6), name, "d_patch_tokens", 5, 8);
  expect_size_fault(gradient(right12, right8, wrong, right6), name, "d_cls_token", 5, 2);
  expect_size_fault(gradient(right12, right8, right2, wrong), name, "d_pos_embed", 5, 6);
  expect_size_fault([&] { mean_pool<float>(two_images, wrong, right4, count); }, "mean_pool", "x",
                    5, 12);
  expect_size_fault([&] { mean_pool<float>(two_images, right12, wrong, count); }, "mean_pool",
                    "rows", 5, 4);
  expect_size_fault([&] { mean_pool_gradient<float>(two_images, wrong, right12, count); },
                    "mean_pool_gradient", "d_rows", 5, 4);
  expect_size_fault([&] { mean_pool_gradient<float>(two_images, right4, wrong, count); },
                    "mean_pool_gradient", "dx", 5, 12);
  expect_size_fault([&] { select_class_token<float>(two_images, wrong, right4, count); },
                    "select_class_token", "x", 5, 12);
  expect_size_fault([&] { select_class_token<float>(two_images, right12, wrong, count); },
                    "select_class_token", "rows", 5, 4);
  expect_size_fault([&] { select_class_token_gradient<float>(two_images, wrong, right12, count); },
                    "select_class_token_gradient", "d_rows", 5, 4);
  expect_size_fault([&] { select_class_token_gradient<float>(two_images, right4, wrong, count); },
                    "select_class_token_gradient", "dx", 5, 12);
}

}  // namespace
}  // namespace paceline::runtime::kernels
