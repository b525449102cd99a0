#include "models/lowering/lowering.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/zoo.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using core::Bytes;
using core::Flops;
using testing::ElementsAre;
using testing::IsEmpty;

std::string list_of_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  return text;
}

std::vector<std::string> names_of(const Program& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) names.push_back(operation.name());
  return names;
}

const Operation& named(const Program& program, const std::string& name) {
  const auto found =
      std::find_if(program.operations.begin(), program.operations.end(),
                   [&](const Operation& operation) { return operation.name() == name; });
  if (found == program.operations.end()) throw std::out_of_range(name);
  return *found;
}

Experiment one_block() {
  Experiment experiment = test::tiny_experiment();
  experiment.model.depth = 1;
  return experiment;
}

TEST(TrainingProgram, of_one_block_is_this_list) {
  EXPECT_EQ(list_of_names(names_of(lower_training(one_block(), 0))),
            "data.m0.load_batch\n"
            "forward.m0.patchify\n"
            "forward.m0.patch_embed.proj\n"
            "forward.m0.embed\n"
            "forward.m0.blocks.0.norm1\n"
            "forward.m0.blocks.0.attn.qkv\n"
            "forward.m0.blocks.0.attn.core\n"
            "forward.m0.blocks.0.attn.proj\n"
            "forward.m0.blocks.0.residual1\n"
            "forward.m0.blocks.0.norm2\n"
            "forward.m0.blocks.0.mlp.fc1\n"
            "forward.m0.blocks.0.mlp.act\n"
            "forward.m0.blocks.0.mlp.fc2\n"
            "forward.m0.blocks.0.residual2\n"
            "forward.m0.norm\n"
            "forward.m0.class_token\n"
            "forward.m0.head\n"
            "forward.m0.loss\n"
            "backward.m0.loss.gradient\n"
            "backward.m0.head.input_gradient\n"
            "backward.m0.head.weight_gradient\n"
            "backward.m0.head.bias_gradient\n"
            "backward.m0.class_token.gradient\n"
            "backward.m0.norm.gradient\n"
            "backward.m0.blocks.0.mlp.fc2.input_gradient\n"
            "backward.m0.blocks.0.mlp.fc2.weight_gradient\n"
            "backward.m0.blocks.0.mlp.fc2.bias_gradient\n"
            "backward.m0.blocks.0.mlp.act.gradient\n"
            "backward.m0.blocks.0.mlp.fc1.input_gradient\n"
            "backward.m0.blocks.0.mlp.fc1.weight_gradient\n"
            "backward.m0.blocks.0.mlp.fc1.bias_gradient\n"
            "backward.m0.blocks.0.norm2.gradient\n"
            "backward.m0.blocks.0.residual2.gradient\n"
            "backward.m0.blocks.0.attn.proj.input_gradient\n"
            "backward.m0.blocks.0.attn.proj.weight_gradient\n"
            "backward.m0.blocks.0.attn.proj.bias_gradient\n"
            "backward.m0.blocks.0.attn.core.gradient\n"
            "backward.m0.blocks.0.attn.qkv.input_gradient\n"
            "backward.m0.blocks.0.attn.qkv.weight_gradient\n"
            "backward.m0.blocks.0.attn.qkv.bias_gradient\n"
            "backward.m0.blocks.0.norm1.gradient\n"
            "backward.m0.blocks.0.residual1.gradient\n"
            "backward.m0.embed.gradient\n"
            "backward.m0.patch_embed.proj.weight_gradient\n"
            "backward.m0.patch_embed.proj.bias_gradient\n"
            "optimizer.bucket0.adamw\n");
}

// The backward pass runs from the head to the patches; within a linear layer the weight's gradient
// comes before the bias's.
TEST(TrainingProgram, stores_parameters_in_the_order_in_which_gradients_become_ready) {
  const Program program = lower_training(one_block(), 0);
  std::vector<std::pair<Bytes, std::string>> order;
  for (const TensorId id : program.gradients) {
    order.emplace_back(program.at(id).offset, program.at(id).name());
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  for (const auto& [offset, name] : order) names.push_back(name.substr(sizeof "gradients"));
  EXPECT_EQ(list_of_names(names),
            "head.weight\nhead.bias\nnorm.weight\nnorm.bias\n"
            "blocks.0.mlp.fc2.weight\nblocks.0.mlp.fc2.bias\n"
            "blocks.0.mlp.fc1.weight\nblocks.0.mlp.fc1.bias\n"
            "blocks.0.norm2.weight\nblocks.0.norm2.bias\n"
            "blocks.0.attn.proj.weight\nblocks.0.attn.proj.bias\n"
            "blocks.0.attn.qkv.weight\nblocks.0.attn.qkv.bias\n"
            "blocks.0.norm1.weight\nblocks.0.norm1.bias\n"
            "cls_token\npos_embed\npatch_embed.proj.weight\npatch_embed.proj.bias\n");
}

TEST(TrainingProgram, repeats_forward_and_backward_for_each_micro_step) {
  Experiment experiment = one_block();
  experiment.training.accumulation_steps = 2;
  const std::vector<std::string> names = names_of(lower_training(experiment, 0));
  const auto position = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
  };
  EXPECT_LT(position("backward.m0.patch_embed.proj.bias_gradient"), position("data.m1.load_batch"));
  EXPECT_LT(position("backward.m1.patch_embed.proj.bias_gradient"),
            position("optimizer.bucket0.adamw"));
  EXPECT_EQ(position("optimizer.bucket0.adamw"), static_cast<std::ptrdiff_t>(names.size()) - 1);
}

// 3 images of 5 tokens: 15 rows. qkv: x 15·8, weight 24·8, bias 24 floats in; 15·24 floats out.
TEST(WorkOfOperations, of_a_product_counted_by_hand) {
  const Program program = lower_training(test::tiny_experiment(), 0);
  const Operation& qkv = named(program, "forward.m0.blocks.0.attn.qkv");
  EXPECT_EQ(qkv.flops, Flops(2 * 15 * 24 * 8));
  EXPECT_EQ(qkv.bytes_read, Bytes(4 * (15 * 8 + 24 * 8 + 24)));
  EXPECT_EQ(qkv.bytes_written, Bytes(4 * 15 * 24));
}

// 2 heads of 4 over 3 images, 5 tokens: scores and weighted values 2·(2·3·2·25·4) FLOPs; qkv 15·24
// floats in; 15·8 floats and 3·2·25 probabilities out. Backward: twice the products; the scratch
// square stays in the cache and does not count.
TEST(WorkOfOperations, of_attention_counted_by_hand) {
  const Program program = lower_training(test::tiny_experiment(), 0);
  const Operation& forward = named(program, "forward.m0.blocks.1.attn.core");
  EXPECT_EQ(forward.flops, Flops(4 * 3 * 2 * 25 * 4));
  EXPECT_EQ(forward.bytes_read, Bytes(4 * 15 * 24));
  EXPECT_EQ(forward.bytes_written, Bytes(4 * (15 * 8 + 150)));
  const Operation& backward = named(program, "backward.m0.blocks.1.attn.core.gradient");
  EXPECT_EQ(backward.flops, Flops(8 * 3 * 2 * 25 * 4));
  EXPECT_EQ(backward.bytes_read, Bytes(4 * (15 * 8 + 15 * 24 + 150)));
  EXPECT_EQ(backward.bytes_written, Bytes(4 * 15 * 24));
}

// Of 3·5 rows only the 3 class tokens move: 3·8 floats. Their gradient is written among zeros.
TEST(WorkOfOperations, of_the_class_token_counts_its_rows) {
  const Program program = lower_training(test::tiny_experiment(), 0);
  const Operation& forward = named(program, "forward.m0.class_token");
  EXPECT_EQ(forward.bytes_read, Bytes(4 * 3 * 8));
  EXPECT_EQ(forward.bytes_written, Bytes(4 * 3 * 8));
  const Operation& backward = named(program, "backward.m0.class_token.gradient");
  EXPECT_EQ(backward.bytes_read, Bytes(4 * 3 * 8));
  EXPECT_EQ(backward.bytes_written, Bytes(4 * 15 * 8));
}

// 1,701 parameters: gradient, parameter and two moments in, three of them out.
TEST(WorkOfOperations, of_the_optimizer_counted_by_hand) {
  const Program program = lower_training(test::tiny_experiment(), 0);
  const Operation& adamw = named(program, "optimizer.bucket0.adamw");
  EXPECT_EQ(adamw.flops, Flops(0));
  EXPECT_EQ(adamw.bytes_read, Bytes(16 * 1'701));
  EXPECT_EQ(adamw.bytes_written, Bytes(12 * 1'701));
}

// A later micro-step also reads the gradient that it adds to: 8·16 floats of fc2's weight.
TEST(WorkOfOperations, of_an_accumulated_gradient_reads_what_is_there) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.accumulation_steps = 2;
  const Program program = lower_training(experiment, 0);
  const Operation& first = named(program, "backward.m0.blocks.0.mlp.fc2.weight_gradient");
  const Operation& second = named(program, "backward.m1.blocks.0.mlp.fc2.weight_gradient");
  EXPECT_EQ(first.bytes_read, Bytes(4 * (15 * 8 + 15 * 16)));
  EXPECT_EQ(second.bytes_read - first.bytes_read, Bytes(4 * 8 * 16));
  EXPECT_EQ(second.bytes_written, first.bytes_written);
}

// Two members exchange halves twice. 1,701 elements: slices of 850 and 851; each member sends and
// receives one of each.
TEST(WorkOfOperations, of_an_all_reduce_is_what_this_rank_sends_and_receives) {
  Experiment experiment = test::tiny_experiment();
  experiment.parallel.world_size = 2;
  for (const Program& program : test::programs_of_all_ranks(experiment)) {
    const Operation& all_reduce = named(program, "communication.bucket0.all_reduce");
    EXPECT_EQ(all_reduce.bytes_read, Bytes(4 * 1'701));
    EXPECT_EQ(all_reduce.bytes_written, Bytes(4 * 1'701));
  }
}

TEST(TrainingProgram, carries_ranks_batches_and_optimizer_of_the_experiment) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.micro_batch = {4, 2};
  experiment.training.accumulation_steps = 3;
  experiment.training.learning_rate = 0.5;
  experiment.training.betas = {0.8, 0.9};
  experiment.parallel.world_size = 2;
  const Program program = lower_training(experiment, 1);
  EXPECT_EQ(program.interpreter, "paceline_cpu");
  EXPECT_EQ(program.rank, 1);
  EXPECT_EQ(program.world_size, 2);
  EXPECT_EQ(program.micro_batch, 2);
  EXPECT_EQ(program.global_batch, 18);
  EXPECT_EQ(program.optimizer.learning_rate, 0.5);
  EXPECT_EQ(program.optimizer.beta1, 0.8);
  EXPECT_EQ(program.optimizer.beta2, 0.9);
  EXPECT_THAT(program.communicators.at(0).ranks, ElementsAre(0, 1));
}

TEST(TrainingProgram, of_one_rank_has_no_communicator) {
  EXPECT_THAT(lower_training(test::tiny_experiment(), 0).communicators, IsEmpty());
}

TEST(TrainingProgram, only_gradients_parameters_moments_and_loss_outlive_the_step) {
  Experiment experiment = test::tiny_experiment();
  experiment.parallel.world_size = 2;
  const Program program = lower_training(experiment, 0);
  for (const Tensor& tensor : program.tensors) {
    const bool of_one_micro_step = tensor.micro_step >= 0;
    EXPECT_NE(tensor.persistent, of_one_micro_step) << tensor.name();
  }
}

// ViT-B/16 with 25 MiB buckets: no parameter exceeds 25 MiB, 346,270,624 bytes of gradients need at
// least 14 buckets.
TEST(TrainingProgram, of_vit_base_16_sends_346_million_bytes) {
  Experiment experiment;
  experiment.model = find_in_zoo("vit_base_patch16_224")->architecture;
  experiment.parallel.world_size = 2;
  std::int64_t bytes = 0;
  int buckets = 0;
  const Program program = lower_training(experiment, 0);
  for (const Operation& operation : program.operations) {
    const auto* shape = std::get_if<CollectiveShape>(&operation.shape);
    if (shape == nullptr) continue;
    bytes += 4 * shape->elements;
    ++buckets;
  }
  EXPECT_EQ(bytes, 4 * 86'567'656);
  EXPECT_GE(buckets, 14);
}

TEST(EvaluationProgram, is_the_forward_pass_alone) {
  const Program program = lower_evaluation(one_block(), 7);
  EXPECT_EQ(program.operations.size(), 18U);
  for (const Operation& operation : program.operations) {
    EXPECT_TRUE(operation.phase == core::Phase::forward || operation.phase == core::Phase::data)
        << operation.name();
    EXPECT_FALSE(operation.accumulate);
  }
  EXPECT_THAT(program.gradients, IsEmpty());
  EXPECT_EQ(program.micro_batch, 7);
}

TEST(EvaluationProgram, weighs_each_image_by_the_images_it_sees) {
  Experiment experiment = one_block();
  experiment.training.micro_batch = {4, 2};
  experiment.training.accumulation_steps = 3;
  experiment.parallel.world_size = 2;
  const Program program = lower_evaluation(experiment, 8);
  EXPECT_EQ(program.world_size, 1);
  EXPECT_EQ(std::get<LossShape>(named(program, "forward.m0.loss").shape).image_weight, 1.0 / 8.0);
}

TEST(EvaluationProgram, holds_neither_gradients_nor_moments) {
  const Program program = lower_evaluation(one_block(), 1);
  for (const Tensor& tensor : program.tensors) {
    EXPECT_NE(tensor.category, core::MemoryCategory::gradients) << tensor.name();
    EXPECT_NE(tensor.category, core::MemoryCategory::optimizer_state) << tensor.name();
  }
}

}  // namespace
}  // namespace paceline::models
