#include "models/architecture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/zoo.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const VitArchitecture& in_zoo(const char* name) { return find_in_zoo(name)->architecture; }

TEST(Architecture, counts_patches_tokens_and_heads) {
  const VitArchitecture& base = in_zoo("vit_base_patch16_224");
  EXPECT_EQ(base.patches(), 14 * 14);
  EXPECT_EQ(base.tokens(), 14 * 14 + 1);
  EXPECT_EQ(base.patch_values(), 3 * 16 * 16);
  EXPECT_EQ(base.head_dimension(), 64);
}

// cls 8 + positions 5·8 + patches 8·3·4² + 8; per block: two norms 2·8 each, qkv 24·8 + 24,
// projection 8·8 + 8, fc1 16·8 + 16, fc2 8·16 + 8; final norm 2·8; head 5·8 + 5.
// 8 + 40 + 392 + 2·(32 + 216 + 72 + 144 + 136) + 16 + 45 = 1,701.
TEST(Architecture, parameters_of_a_tiny_one_counted_by_hand) {
  EXPECT_EQ(parameter_count(test::tiny_architecture()), 1'701);
}

TEST(Architecture, parameters_stand_in_the_order_of_the_forward_pass) {
  std::vector<std::string> names;
  for (const ParameterSpec& spec : parameters_of(test::tiny_architecture())) {
    if (spec.layer < 1) names.push_back(spec.name());
  }
  EXPECT_THAT(
      names,
      ElementsAre("cls_token", "pos_embed", "patch_embed.proj.weight", "patch_embed.proj.bias",
                  "blocks.0.norm1.weight", "blocks.0.norm1.bias", "blocks.0.attn.qkv.weight",
                  "blocks.0.attn.qkv.bias", "blocks.0.attn.proj.weight", "blocks.0.attn.proj.bias",
                  "blocks.0.norm2.weight", "blocks.0.norm2.bias", "blocks.0.mlp.fc1.weight",
                  "blocks.0.mlp.fc1.bias", "blocks.0.mlp.fc2.weight", "blocks.0.mlp.fc2.bias",
                  "norm.weight", "norm.bias", "head.weight", "head.bias"));
}

TEST(Architecture, has_four_parameters_before_the_blocks_twelve_in_each_and_four_after) {
  EXPECT_THAT(parameters_of(in_zoo("vit_base_patch16_224")), SizeIs(4 + 12 * 12 + 4));
}

// ViT-B/16: s = 197 tokens, d = 768.
//   block: qkv 2·s·d·3d + scores and values 2·(2·s²·d) + projection 2·s·d² + MLP 2·(2·s·d·4d)
//        = 24·s·d² + 4·s²·d = 24·116,195,328 + 4·29,805,312 = 2,907,909,120
//   patches: 2·196·768·768 = 231,211,008; head: 2·768·1000 = 1,536,000
//   12·2,907,909,120 + 231,211,008 + 1,536,000 = 35,127,656,448
TEST(ForwardFlops, of_vit_base_16_is_the_closed_form) {
  const std::int64_t flops = forward_flops(in_zoo("vit_base_patch16_224"), 1).value();
  EXPECT_EQ(flops, 35'127'656'448);
  EXPECT_GT(flops, 35.1e9);
  EXPECT_LT(flops, 35.2e9);
}

// s = 5, d = 8, hidden 16. Block: qkv 2·5·8·24 = 1,920; attention 4·25·8 = 800; projection
// 2·5·8·8 = 640; MLP 4·5·8·16 = 2,560; together 5,920. Patches 2·4·48·8 = 3,072; head 2·8·5 = 80.
TEST(ForwardFlops, of_a_tiny_one_counted_by_hand) {
  EXPECT_EQ(forward_flops(test::tiny_architecture(), 1).value(), 2 * 5'920 + 3'072 + 80);
}

TEST(ForwardFlops, grow_in_proportion_to_images) {
  const VitArchitecture& base = in_zoo("vit_base_patch16_224");
  EXPECT_EQ(forward_flops(base, 64), 64 * forward_flops(base, 1));
  EXPECT_EQ(forward_flops(base, 0).value(), 0);
}

TEST(ArchitectureFaults, of_a_good_one_are_none) {
  EXPECT_THAT(faults_of(test::tiny_architecture()), IsEmpty());
}

TEST(ArchitectureFaults, are_all_found) {
  VitArchitecture bad = test::tiny_architecture();
  bad.patch_size = 3;
  bad.heads = 5;
  const auto faults = faults_of(bad);
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].first, "image_size");
  EXPECT_EQ(faults[0].second, "got 8 (must be a multiple of patch_size 3)");
  EXPECT_EQ(faults[1].first, "heads");
  EXPECT_EQ(faults[1].second, "got 5 (must divide width 8)");
}

// 4·s²·d with s = 2^32 + 1 does not fit 64 bits.
TEST(ArchitectureFaults, include_one_whose_flops_cannot_be_counted) {
  VitArchitecture absurd = test::tiny_architecture();
  absurd.image_size = 65'536;
  absurd.patch_size = 1;
  const auto faults = faults_of(absurd);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].first, "image_size");
  EXPECT_THAT(faults[0].second, HasSubstr("one image takes more than 1e18 FLOPs"));
}

}  // namespace
}  // namespace paceline::models
