#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/lowering/lowering.hpp"
#include "models/lowering/pytorch.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using core::Bytes;
using core::DataType;
using core::OperationKind;
using core::Precision;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

/// Compute capability 8.6: flash attention in 16 bits.
hardware_profiles::DeviceCapabilities ampere() {
  hardware_profiles::DeviceCapabilities result;
  result.kind = hardware_profiles::DeviceCapabilities::Kind::cuda;
  result.compute_capability = 86;
  for (const DataType type : {DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16}) {
    result.product_types[type] = true;
  }
  return result;
}

Program lowered(const Experiment& experiment) { return lower_training(experiment, 0, ampere()); }

template <class Condition>
std::vector<std::string> operators_where(const Program& program, Condition&& holds) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) {
    if (holds(operation)) names.emplace_back(operation.operator_name);
  }
  return names;
}

std::int64_t count_of(const Program& program, std::string_view suffix) {
  return std::count_if(program.operations.begin(), program.operations.end(),
                       [&](const Operation& operation) { return operation.suffix == suffix; });
}

/// Elements of the buckets, in order of their exchange.
std::vector<std::int64_t> exchanged(const Program& program) {
  std::vector<std::int64_t> elements;
  for (const Operation& operation : program.operations) {
    const auto* shape = std::get_if<CollectiveShape>(&operation.shape);
    if (shape != nullptr) elements.push_back(shape->elements);
  }
  return elements;
}

// 2 of the patches, class token, positions, 12 of each block, 2 of the last norm, 2 of the head.
constexpr std::int64_t tiny_tensors = 2 + 1 + 1 + 2 * 12 + 2 + 2;

// ---- buckets
// -------------------------------------------------------------------------------------

/// Width 128, MLP 512, five blocks. In bytes, in the order in which gradients are ready: head 2560
/// + 20, norm 2 · 512: 3604. A block: fc2 262,144 + 512, fc1 262,144 + 2048, norm2 1024, projection
/// 65,536 + 512, qkv 196,608 + 1536, norm1 1024: 793,088. Class token 512, positions 2560, patches
/// 24,576 + 512: 28,160. Together 3604 + 5 · 793,088 + 28,160 = 3,997,204.
Experiment five_blocks(std::int64_t bucket_mib) {
  Experiment experiment = test::tiny_experiment();
  experiment.model.width = 128;
  experiment.model.mlp_hidden = 512;
  experiment.model.depth = 5;
  experiment.parallel.world_size = 2;
  experiment.parallel.bucket_mib = bucket_mib;
  return experiment;
}

// First bucket, 1 MiB = 1,048,576: after block 4 it holds 796,692, and fc2's weight of block 3
// takes it to 1,058,836 and closes it. All others, 3,997,204 − 1,058,836 = 2,938,368, are below 25
// MiB.
TEST(DdpBuckets, by_default_the_first_holds_one_mib_and_the_others_25) {
  EXPECT_THAT(exchanged(lowered(five_blocks(25))), ElementsAre(1'058'836 / 4, 2'938'368 / 4));
}

// The second: 530,944 left of block 3 and 262,144 + 512 of block 2 are 793,600; fc1's weight makes
// 1,055,744. The third: 268,288 left of block 2; with block 1 up to its projection 862,208; qkv's
// weight makes 1,058,816. Left: 2560 of block 1, block 0 and 28,160: 823,808.
TEST(DdpBuckets, are_closed_by_the_parameter_that_reaches_the_limit) {
  EXPECT_THAT(exchanged(lowered(five_blocks(1))),
              ElementsAre(1'058'836 / 4, 1'055'744 / 4, 1'058'816 / 4, 823'808 / 4));
}

TEST(DdpBuckets, are_exchanged_as_soon_as_they_are_complete_only_with_overlap) {
  Experiment experiment = five_blocks(1);
  const auto before_the_first_exchange = [&] {
    const Program program = lowered(experiment);
    std::int64_t copies = 0;
    for (const Operation& operation : program.operations) {
      if (operation.kind == OperationKind::all_reduce) break;
      if (operation.suffix == ".to_bucket") ++copies;
    }
    return copies;
  };
  // Four tensors after the blocks, twelve of block 4, one of block 3.
  EXPECT_EQ(before_the_first_exchange(), 4 + 12 + 1);
  experiment.parallel.overlap = false;
  EXPECT_EQ(before_the_first_exchange(), 2 + 1 + 1 + 5 * 12 + 2 + 2);
}

Experiment two_ranks() {
  Experiment experiment = test::tiny_experiment();
  experiment.parallel.world_size = 2;
  return experiment;
}

TEST(DdpCopies, bring_every_gradient_into_its_bucket_and_back) {
  const Program program = lowered(two_ranks());
  EXPECT_EQ(count_of(program, ".to_bucket"), tiny_tensors);
  EXPECT_EQ(count_of(program, ".from_bucket"), tiny_tensors);
  EXPECT_THAT(operators_where(program, [](const auto& o) { return o.suffix == ".to_bucket"; }),
              testing::Each("aten.mul.out"));
  EXPECT_THAT(operators_where(program, [](const auto& o) { return o.suffix == ".from_bucket"; }),
              testing::Each("aten.copy_.default"));
}

TEST(DdpCopies, are_not_made_for_one_rank) {
  const Program program = lowered(test::tiny_experiment());
  EXPECT_EQ(count_of(program, ".to_bucket"), 0);
  EXPECT_THAT(exchanged(program), testing::IsEmpty());
}

// ---- accumulation
// --------------------------------------------------------------------------------

std::int64_t accumulations(const Program& program) {
  return std::count_if(program.operations.begin(), program.operations.end(),
                       [](const Operation& operation) {
                         return operation.phase == core::Phase::backward &&
                                operation.operator_name == "aten.add_.Tensor";
                       });
}

TEST(Accumulation, adds_each_gradient_to_the_first_and_exchanges_once) {
  Experiment experiment = two_ranks();
  experiment.training.accumulation_steps = 3;
  const Program program = lowered(experiment);
  EXPECT_EQ(accumulations(program), 2 * tiny_tensors);
  EXPECT_THAT(exchanged(program), SizeIs(1));
  EXPECT_EQ(count_of(program, ".to_bucket"), tiny_tensors);
}

TEST(Accumulation, without_no_sync_exchanges_in_every_micro_step) {
  Experiment experiment = two_ranks();
  experiment.training.accumulation_steps = 3;
  experiment.framework.no_sync = false;
  const Program program = lowered(experiment);
  EXPECT_EQ(accumulations(program), 2 * tiny_tensors);
  EXPECT_THAT(exchanged(program), SizeIs(3));
  EXPECT_EQ(count_of(program, ".to_bucket"), 3 * tiny_tensors);
  EXPECT_EQ(count_of(program, ".from_bucket"), 3 * tiny_tensors);
}

// ---- attention
// -----------------------------------------------------------------------------------

std::vector<std::string> attention_operators(const Program& program, core::Phase phase) {
  return operators_where(program, [phase](const Operation& operation) {
    return operation.phase == phase && operation.layer == 1 &&
           operation.role.starts_with("attn.core");
  });
}

// q · kᵀ and weights · v are products of batches of contiguous matrices.
TEST(Attention, of_1_12_is_products_and_a_softmax) {
  Experiment experiment = test::tiny_experiment();
  experiment.framework.version = "1.12";
  const Program program = lowered(experiment);
  EXPECT_THAT(attention_operators(program, core::Phase::forward),
              ElementsAre("aten.clone.default", "aten.clone.default", "aten.bmm.default",
                          "aten.mul.Tensor", "aten._softmax.default", "aten.clone.default",
                          "aten.bmm.default", "aten.clone.default"));
  EXPECT_THAT(
      attention_operators(program, core::Phase::backward),
      ElementsAre("aten.clone.default", "aten.bmm.default", "aten.bmm.default",
                  "aten._softmax_backward_data.default", "aten.mul.Tensor", "aten.bmm.default",
                  "aten.bmm.default", "aten.stack.default", "aten.clone.default"));
}

TEST(Attention, is_one_kernel_since_2_0_and_which_one_follows_from_type_and_card) {
  Experiment experiment = test::tiny_experiment();
  EXPECT_THAT(attention_operators(lowered(experiment), core::Phase::forward),
              ElementsAre("aten._scaled_dot_product_efficient_attention.default"));
  experiment.training.precision = Precision::amp_bf16;
  EXPECT_THAT(attention_operators(lowered(experiment), core::Phase::forward),
              ElementsAre("aten._scaled_dot_product_flash_attention.default"));
  hardware_profiles::DeviceCapabilities hopper = ampere();
  hopper.compute_capability = 90;
  EXPECT_THAT(attention_operators(lower_training(experiment, 0, hopper), core::Phase::forward),
              ElementsAre("aten._scaled_dot_product_cudnn_attention.default"));
}

// ---- the optimizer and the loss scale
// ------------------------------------------------------------

std::vector<std::string> optimizer_operators(const Program& program) {
  return operators_where(program,
                         [](const Operation& one) { return one.phase == core::Phase::optimizer; });
}

TEST(Optimizer, adamw_of_foreach_kernels_is_nine_operators) {
  EXPECT_THAT(optimizer_operators(lowered(test::tiny_experiment())),
              ElementsAre("aten._foreach_add_.Tensor", "aten._foreach_mul_.Scalar",
                          "aten._foreach_lerp_.Scalar", "aten._foreach_mul_.Scalar",
                          "aten._foreach_addcmul_.Scalar", "aten._foreach_sqrt.default",
                          "aten._foreach_div_.ScalarList", "aten._foreach_add_.Scalar",
                          "aten._foreach_addcdiv_.ScalarList"));
}

TEST(Optimizer, adamw_without_weight_decay_multiplies_no_weights) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.weight_decay = 0.0;
  const auto operators = optimizer_operators(lowered(experiment));
  EXPECT_THAT(operators, SizeIs(8));
  EXPECT_EQ(std::count(operators.begin(), operators.end(), "aten._foreach_mul_.Scalar"), 1);
}

Experiment with_sgd(OptimizerKernels kernels) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.optimizer = core::OptimizerKind::sgd;
  experiment.framework.optimizer_kernels = kernels;
  return experiment;
}

TEST(Optimizer, sgd_of_foreach_kernels_is_four_operators) {
  EXPECT_THAT(optimizer_operators(lowered(with_sgd(OptimizerKernels::foreach))),
              ElementsAre("aten._foreach_add.List", "aten._foreach_mul_.Scalar",
                          "aten._foreach_add_.List", "aten._foreach_add_.List"));
}

// Without momentum the update adds the gradient itself; without decay that is all.
TEST(Optimizer, sgd_without_momentum_or_decay_is_one_operator) {
  Experiment experiment = with_sgd(OptimizerKernels::foreach);
  experiment.training.momentum = 0.0;
  EXPECT_THAT(optimizer_operators(lowered(experiment)),
              ElementsAre("aten._foreach_add.List", "aten._foreach_add_.List"));
  experiment.training.weight_decay = 0.0;
  EXPECT_THAT(optimizer_operators(lowered(experiment)), ElementsAre("aten._foreach_add_.List"));
}

TEST(Optimizer, of_fused_kernels_is_one_operator_beside_the_count_of_steps) {
  Experiment experiment = test::tiny_experiment();
  experiment.framework.optimizer_kernels = OptimizerKernels::fused;
  EXPECT_THAT(optimizer_operators(lowered(experiment)),
              ElementsAre("aten._foreach_add_.Scalar", "aten._fused_adamw_.default"));
  EXPECT_THAT(optimizer_operators(lowered(with_sgd(OptimizerKernels::fused))),
              ElementsAre("aten._fused_sgd_.default"));
}

TEST(Optimizer, of_single_tensors_runs_its_list_for_each_of_them) {
  Experiment experiment = test::tiny_experiment();
  experiment.framework.optimizer_kernels = OptimizerKernels::single_tensor;
  const auto operators = optimizer_operators(lowered(experiment));
  ASSERT_THAT(operators, SizeIs(9 * tiny_tensors));
  EXPECT_THAT(std::vector(operators.begin(), operators.begin() + 9),
              ElementsAre("aten.add_.Tensor", "aten.mul_.Tensor", "aten.lerp_.Scalar",
                          "aten.mul_.Tensor", "aten.addcmul_.default", "aten.sqrt.default",
                          "aten.div.Tensor", "aten.add_.Tensor", "aten.addcdiv_.default"));
  EXPECT_THAT(optimizer_operators(lowered(with_sgd(OptimizerKernels::single_tensor))),
              SizeIs(4 * tiny_tensors));
}

// 2 + 2 + 5 · 12 + 2 + 2 = 68 tensors, 36 a launch; 999,301 elements are 16 chunks of at most 320.
TEST(Optimizer, launches_a_kernel_for_every_36_tensors) {
  const Program program = lowered(five_blocks(25));
  EXPECT_EQ(program.operations.back().launches, 2);
}

TEST(LossScale, of_fp16_scales_the_loss_checks_the_gradients_and_updates_the_scale) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.precision = Precision::amp_fp16;
  const Program program = lowered(experiment);
  const auto operators = optimizer_operators(program);
  EXPECT_EQ(operators.front(), "aten._amp_foreach_non_finite_check_and_unscale_.default");
  EXPECT_EQ(operators.back(), "aten._amp_update_scale_.default");
  EXPECT_THAT(operators, SizeIs(9 + 2));
  EXPECT_THAT(operators_where(program, [](const auto& o) { return o.suffix == ".scaled"; }),
              ElementsAre("aten.mul.Tensor", "aten.mul.Tensor"));  // the loss, its gradient
}

TEST(LossScale, is_not_used_with_bf16) {
  Experiment experiment = test::tiny_experiment();
  experiment.training.precision = Precision::amp_bf16;
  const Program program = lowered(experiment);
  EXPECT_THAT(optimizer_operators(program), Not(Contains("aten._amp_update_scale_.default")));
  EXPECT_EQ(count_of(program, ".scaled"), 0);
}

// ---- peak memory
// ---------------------------------------------------------------------------------

/// weights 400 bytes, a 800 from operation 0 to 1, b 512 from 1 to 2, c 4 in 2.
Program three_operations() {
  Program program;
  const auto tensor = [&](std::string_view role, std::int64_t elements) {
    program.tensors.push_back(
        {.role = role, .category = core::MemoryCategory::activations, .elements = elements});
    return TensorId(program.tensors.size() - 1);
  };
  const TensorId weights = tensor("weights", 100);
  program.tensors[0].category = core::MemoryCategory::parameters;
  program.tensors[0].persistent = true;
  const TensorId a = tensor("a", 200);
  const TensorId b = tensor("b", 128);
  const TensorId c = tensor("c", 1);
  program.operations.push_back({.role = "first", .inputs = {weights}, .outputs = {a}});
  program.operations.push_back({.role = "second", .inputs = {a}, .outputs = {b}});
  program.operations.push_back({.role = "third", .inputs = {b}, .outputs = {c}});
  program.dependency_offsets = {0, 0, 0, 0};
  return program;
}

constexpr Bytes granularity(512);

// Rounded: 512, 1024, 512, 512. Alive in operation 0: 1536, in 1: 2048, in 2: 1536.
TEST(PeakMemory, counts_each_tensor_as_an_allocation_rounded_up) {
  const PeakMemory peak = peak_memory(three_operations(), granularity);
  EXPECT_EQ(peak.total, Bytes(2048));
  EXPECT_EQ(peak.peak_operation, 1U);
  EXPECT_EQ(peak.by_category[core::MemoryCategory::parameters], Bytes(512));
  EXPECT_EQ(peak.by_category[core::MemoryCategory::activations], Bytes(1536));
}

TEST(PeakMemory, rounds_nothing_at_a_granularity_of_one) {
  EXPECT_EQ(peak_memory(three_operations(), Bytes(1)).total, Bytes(400 + 800 + 512));
}

// 512 + 1024 + 512 + 512 while operation 2 reads a part of a.
TEST(PeakMemory, of_a_view_is_nothing_and_its_base_lives_as_long_as_it) {
  Program program = three_operations();
  program.tensors.push_back({.role = "part",
                             .category = core::MemoryCategory::activations,
                             .elements = 100,
                             .base = TensorId(1),
                             .offset = Bytes(400)});
  program.operations[2].inputs.push_back(TensorId(4));
  const PeakMemory peak = peak_memory(program, granularity);
  EXPECT_EQ(peak.total, Bytes(2560));
  EXPECT_EQ(peak.peak_operation, 2U);
}

TEST(PeakMemory, holds_a_tensor_to_the_end_of_the_step_where_the_loop_does) {
  Program program = three_operations();
  program.tensors[1].until_end = true;
  EXPECT_EQ(peak_memory(program, granularity).total, Bytes(2560));
}

TEST(PeakMemory, holds_a_tensor_until_the_operation_that_a_cache_names) {
  Program program = three_operations();
  program.tensors[1].held_until = OperationId(2);
  EXPECT_EQ(peak_memory(program, granularity).total, Bytes(2560));
  program.tensors[1].held_until = OperationId(1);
  EXPECT_EQ(peak_memory(program, granularity).total, Bytes(2048));
}

}  // namespace
}  // namespace paceline::models
