#include "models/kernel_class.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/rates.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

std::map<std::string, double> features_of(const Operation& operation) {
  std::map<std::string, double> features;
  for (const KernelFeature& feature : kernel_features(operation)) {
    features[std::string(feature.name)] = feature.amount;
  }
  return features;
}

// y = x·Wᵀ, dx = dy·W, dW = dyᵀ·x.
TEST(KernelClass, of_products_says_which_operands_are_transposed) {
  std::map<std::string, std::string> classes;
  const Program program = lower_training(test::tiny_experiment(), 0);
  for (const Operation& operation : program.operations) {
    classes[operation.name()] = kernel_class(operation);
  }
  EXPECT_EQ(classes["forward.m0.blocks.0.mlp.fc1"], "matmul_nt");
  EXPECT_EQ(classes["backward.m0.blocks.0.mlp.fc1.input_gradient"], "matmul_nn");
  EXPECT_EQ(classes["backward.m0.blocks.0.mlp.fc1.weight_gradient"], "matmul_tn");
  EXPECT_EQ(classes["forward.m0.blocks.0.norm1"], "layer_norm");
  EXPECT_EQ(classes["optimizer.bucket0.adamw"], "adamw");
}

TEST(KernelFeatures, of_a_product_are_its_volume_and_faces) {
  const Operation product{.kind = core::OperationKind::matmul,
                          .shape = MatmulShape{.m = 2, .n = 3, .k = 5}};
  EXPECT_EQ(
      features_of(product),
      (std::map<std::string, double>{{"call", 1}, {"mnk", 30}, {"mn", 6}, {"mk", 10}, {"kn", 15}}));
}

// 2 images of 3 heads, 5 tokens, 7 values a head.
TEST(KernelFeatures, of_attention_count_heads_scores_and_values) {
  const Operation attention{
      .kind = core::OperationKind::attention,
      .shape = AttentionShape{.batch = 2, .heads = 3, .tokens = 5, .head_dimension = 7}};
  EXPECT_EQ(features_of(attention), (std::map<std::string, double>{{"call", 1},
                                                                   {"heads", 6},
                                                                   {"scores", 6 * 25},
                                                                   {"score_products", 6 * 25 * 7},
                                                                   {"values", 6 * 5 * 7}}));
}

// 17 MiB in all: 16 beyond the first, 1 beyond the sixteenth.
TEST(KernelFeatures, of_memory_bound_kernels_have_hinges_at_1_and_16_mib) {
  const Operation add{.kind = core::OperationKind::add,
                      .shape = ElementsShape{1},
                      .bytes_read = core::mib(12),
                      .bytes_written = core::mib(5)};
  constexpr double mib = 1024.0 * 1024.0;
  EXPECT_EQ(features_of(add), (std::map<std::string, double>{{"call", 1},
                                                             {"bytes", 17 * mib},
                                                             {"bytes_beyond_1_mib", 16 * mib},
                                                             {"bytes_beyond_16_mib", mib}}));
}

TEST(KernelFeatures, of_rows_count_the_rows) {
  const Operation norm{.kind = core::OperationKind::layer_norm,
                       .shape = RowsShape{.rows = 9, .width = 4},
                       .bytes_read = core::Bytes(100),
                       .bytes_written = core::Bytes(28)};
  EXPECT_EQ(features_of(norm), (std::map<std::string, double>{{"call", 1},
                                                              {"bytes", 128},
                                                              {"bytes_beyond_1_mib", 0},
                                                              {"bytes_beyond_16_mib", 0},
                                                              {"rows", 9}}));
}

TEST(KernelFeatures, of_collectives_are_none) {
  const Operation all_reduce{.kind = core::OperationKind::all_reduce, .shape = CollectiveShape{}};
  EXPECT_TRUE(kernel_features(all_reduce).empty());
}

}  // namespace
}  // namespace paceline::models
