#include "models/program.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "models/lowering/lowering.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

TEST(OperationName, says_phase_micro_step_block_and_role) {
  EXPECT_EQ(
      (Operation{.phase = core::Phase::forward, .micro_step = 0, .layer = 3, .role = "attn.qkv"}
           .name()),
      "forward.m0.blocks.3.attn.qkv");
  EXPECT_EQ((Operation{.phase = core::Phase::backward, .micro_step = 12, .role = "head"}.name()),
            "backward.m12.head");
  EXPECT_EQ(
      (Operation{.phase = core::Phase::communication, .bucket = 2, .role = "all_reduce"}.name()),
      "communication.bucket2.all_reduce");
}

TEST(TensorName, says_category_block_and_role) {
  EXPECT_EQ(
      (Tensor{.role = "attn.qkv.weight", .layer = 3, .category = core::MemoryCategory::gradients}
           .name()),
      "gradients.blocks.3.attn.qkv.weight");
}

TEST(Tensor, bytes_follow_from_type_and_elements) {
  EXPECT_EQ((Tensor{.type = core::DataType::fp32, .elements = 3}.bytes()), core::Bytes(12));
  EXPECT_EQ((Tensor{.type = core::DataType::bf16, .elements = 3}.bytes()), core::Bytes(6));
}

TEST(TensorList, holds_eight) {
  TensorList list;
  for (std::size_t i = 0; i < 8; ++i) list.push_back(TensorId(i));
  EXPECT_EQ(list.size(), 8U);
  EXPECT_EQ(list[7], TensorId(7));
  EXPECT_THROW(list.push_back(TensorId(8)), std::out_of_range);
}

TEST(Program, refuses_an_id_that_it_does_not_have) {
  const Program program;
  EXPECT_THROW(static_cast<void>(program.at(TensorId(0))), std::out_of_range);
  EXPECT_THROW(static_cast<void>(program.at(OperationId(0))), std::out_of_range);
  EXPECT_THROW(static_cast<void>(program.dependencies_of(OperationId(0))), std::out_of_range);
}

TEST(WorkByKind, sums_what_operations_of_a_kind_do) {
  Program program;
  program.operations = {{.kind = core::OperationKind::matmul,
                         .flops = core::Flops(6),
                         .bytes_read = core::Bytes(1),
                         .bytes_written = core::Bytes(2)},
                        {.kind = core::OperationKind::matmul,
                         .flops = core::Flops(4),
                         .bytes_read = core::Bytes(10),
                         .bytes_written = core::Bytes(20)},
                        {.kind = core::OperationKind::gelu}};
  const WorkByKind work = work_by_kind(program);
  EXPECT_EQ(work[core::OperationKind::matmul],
            (WorkCount{2, core::Flops(10), core::Bytes(11), core::Bytes(22)}));
  EXPECT_EQ(work[core::OperationKind::gelu].calls, 1);
  EXPECT_EQ(work[core::OperationKind::adamw], WorkCount{});
}

/// Rank 0 of two, with the tiny model: every kind of operation stands in it.
Program sample() {
  Experiment experiment = test::tiny_experiment();
  experiment.parallel.world_size = 2;
  return lower_training(experiment, 0);
}

TEST(ProgramHash, has_16_digits_and_is_the_same_for_equal_programs) {
  EXPECT_EQ(sample().hash().size(), 16U);
  EXPECT_EQ(sample().hash(), sample().hash());
}

struct Change {
  const char* name;
  std::function<void(Program&)> make;
};
void PrintTo(const Change& change, std::ostream* stream) { *stream << change.name; }

Operation& first_of(Program& program, core::OperationKind kind) {
  for (Operation& operation : program.operations) {
    if (operation.kind == kind) return operation;
  }
  throw std::out_of_range("no such operation");
}

template <class Shape>
Shape& first_shape(Program& program) {
  for (Operation& operation : program.operations) {
    if (auto* shape = std::get_if<Shape>(&operation.shape)) return *shape;
  }
  throw std::out_of_range("no such shape");
}

Operation& an_operation(Program& program) { return first_of(program, core::OperationKind::matmul); }

class ProgramHashOf : public testing::TestWithParam<Change> {};

TEST_P(ProgramHashOf, changes_with_the_field) {
  Program program = sample();
  GetParam().make(program);
  EXPECT_NE(program.hash(), sample().hash());
}

const auto name_of_change = [](const auto& instance) { return instance.param.name; };

INSTANTIATE_TEST_SUITE_P(
    program, ProgramHashOf,
    testing::Values(
        Change{"interpreter", [](Program& p) { p.interpreter = "paceline_cuda"; }},
        Change{"image_size", [](Program& p) { p.architecture.image_size = 16; }},
        Change{"patch_size", [](Program& p) { p.architecture.patch_size = 8; }},
        Change{"channels", [](Program& p) { p.architecture.channels = 1; }},
        Change{"width", [](Program& p) { p.architecture.width = 16; }},
        Change{"depth", [](Program& p) { p.architecture.depth = 3; }},
        Change{"heads", [](Program& p) { p.architecture.heads = 4; }},
        Change{"mlp_hidden", [](Program& p) { p.architecture.mlp_hidden = 32; }},
        Change{"classes", [](Program& p) { p.architecture.classes = 6; }},
        Change{"gelu_form", [](Program& p) { p.architecture.gelu = core::GeluForm::tanh; }},
        Change{"norm_epsilon", [](Program& p) { p.architecture.layer_norm_epsilon = 1e-5; }},
        Change{"rank", [](Program& p) { p.rank = 1; }},
        Change{"world_size", [](Program& p) { p.world_size = 3; }},
        Change{"micro_batch", [](Program& p) { p.micro_batch = 4; }},
        Change{"accumulation_steps", [](Program& p) { p.accumulation_steps = 2; }},
        Change{"global_batch", [](Program& p) { p.global_batch = 7; }},
        Change{"learning_rate", [](Program& p) { p.optimizer.learning_rate = 1e-4; }},
        Change{"beta1", [](Program& p) { p.optimizer.beta1 = 0.8; }},
        Change{"beta2", [](Program& p) { p.optimizer.beta2 = 0.99; }},
        Change{"epsilon", [](Program& p) { p.optimizer.epsilon = 1e-7; }},
        Change{"weight_decay", [](Program& p) { p.optimizer.weight_decay = 0.0; }},
        Change{"communicator_name", [](Program& p) { p.communicators[0].name = "node"; }},
        Change{"communicator_ranks", [](Program& p) { p.communicators[0].ranks = {1, 0}; }},
        Change{"communicator_left_out", [](Program& p) { p.communicators.clear(); }},
        Change{"parameter_list", [](Program& p) { std::swap(p.parameters[0], p.parameters[1]); }},
        Change{"gradient_list", [](Program& p) { std::swap(p.gradients[0], p.gradients[1]); }},
        Change{"gradients_left_out", [](Program& p) { p.gradients.clear(); }},
        Change{"dependency", [](Program& p) { p.dependencies.at(0) = OperationId(0); }},
        Change{"dependency_offset", [](Program& p) { ++p.dependency_offsets.back(); }}),
    name_of_change);

INSTANTIATE_TEST_SUITE_P(
    tensor, ProgramHashOf,
    testing::Values(Change{"role", [](Program& p) { p.tensors[0].role = "other"; }},
                    Change{"layer", [](Program& p) { p.tensors[0].layer = 1; }},
                    Change{"micro_step", [](Program& p) { p.tensors[0].micro_step = 5; }},
                    Change{"bucket", [](Program& p) { p.tensors[0].bucket = 5; }},
                    Change{"category",
                           [](Program& p) {
                             p.tensors[0].category = core::MemoryCategory::workspace;
                           }},
                    Change{"type", [](Program& p) { p.tensors[0].type = core::DataType::bf16; }},
                    Change{"elements", [](Program& p) { ++p.tensors[0].elements; }},
                    Change{"base", [](Program& p) { p.tensors[0].base = TensorId(1); }},
                    Change{"offset", [](Program& p) { p.tensors[0].offset += core::Bytes(4); }},
                    Change{"persistent", [](Program& p) { p.tensors[0].persistent = false; }},
                    Change{"one_more", [](Program& p) { p.tensors.push_back(p.tensors[0]); }}),
    name_of_change);

INSTANTIATE_TEST_SUITE_P(
    operation, ProgramHashOf,
    testing::Values(
        Change{"kind", [](Program& p) { an_operation(p).kind = core::OperationKind::add; }},
        Change{"phase", [](Program& p) { an_operation(p).phase = core::Phase::optimizer; }},
        Change{"stream", [](Program& p) { an_operation(p).stream = core::Stream::communication; }},
        Change{"accumulate", [](Program& p) { an_operation(p).accumulate = true; }},
        Change{"micro_step", [](Program& p) { an_operation(p).micro_step = 1; }},
        Change{"layer", [](Program& p) { an_operation(p).layer = 1; }},
        Change{"bucket", [](Program& p) { an_operation(p).bucket = 1; }},
        Change{"role", [](Program& p) { an_operation(p).role = "other"; }},
        Change{"flops", [](Program& p) { an_operation(p).flops += core::Flops(2); }},
        Change{"bytes_read", [](Program& p) { an_operation(p).bytes_read += core::Bytes(4); }},
        Change{"bytes_written",
               [](Program& p) { an_operation(p).bytes_written += core::Bytes(4); }},
        Change{"input_left_out",
               [](Program& p) {
                 const TensorList inputs = an_operation(p).inputs;
                 an_operation(p).inputs = {inputs[0], inputs[1]};
               }},
        Change{"inputs_exchanged",
               [](Program& p) {
                 const TensorList inputs = an_operation(p).inputs;
                 an_operation(p).inputs = {inputs[1], inputs[0], inputs[2]};
               }},
        Change{"input_made_an_output",
               [](Program& p) {
                 Operation& operation = an_operation(p);
                 operation.outputs = {operation.inputs[2], operation.outputs[0]};
                 operation.inputs = {operation.inputs[0], operation.inputs[1]};
               }},
        Change{"order", [](Program& p) { std::swap(p.operations[4], p.operations[5]); }},
        Change{"one_left_out", [](Program& p) { p.operations.pop_back(); }}),
    name_of_change);

INSTANTIATE_TEST_SUITE_P(
    shape, ProgramHashOf,
    testing::Values(
        Change{"matmul_m", [](Program& p) { ++first_shape<MatmulShape>(p).m; }},
        Change{"matmul_n", [](Program& p) { ++first_shape<MatmulShape>(p).n; }},
        Change{"matmul_k", [](Program& p) { ++first_shape<MatmulShape>(p).k; }},
        Change{"matmul_a", [](Program& p) { first_shape<MatmulShape>(p).a = Transpose::yes; }},
        Change{"matmul_b", [](Program& p) { first_shape<MatmulShape>(p).b = Transpose::no; }},
        Change{"rows_rows", [](Program& p) { ++first_shape<RowsShape>(p).rows; }},
        Change{"rows_width", [](Program& p) { ++first_shape<RowsShape>(p).width; }},
        Change{"attention_batch", [](Program& p) { ++first_shape<AttentionShape>(p).batch; }},
        Change{"attention_heads", [](Program& p) { ++first_shape<AttentionShape>(p).heads; }},
        Change{"attention_tokens", [](Program& p) { ++first_shape<AttentionShape>(p).tokens; }},
        Change{"attention_head_dimension",
               [](Program& p) { ++first_shape<AttentionShape>(p).head_dimension; }},
        Change{"elements", [](Program& p) { ++first_shape<ElementsShape>(p).elements; }},
        Change{"patch_images", [](Program& p) { ++first_shape<PatchShape>(p).images; }},
        Change{"patch_channels", [](Program& p) { ++first_shape<PatchShape>(p).channels; }},
        Change{"patch_image_size", [](Program& p) { ++first_shape<PatchShape>(p).image_size; }},
        Change{"patch_patch_size", [](Program& p) { ++first_shape<PatchShape>(p).patch_size; }},
        Change{"tokens_images", [](Program& p) { ++first_shape<TokensShape>(p).images; }},
        Change{"tokens_tokens", [](Program& p) { ++first_shape<TokensShape>(p).tokens; }},
        Change{"tokens_width", [](Program& p) { ++first_shape<TokensShape>(p).width; }},
        Change{"loss_images", [](Program& p) { ++first_shape<LossShape>(p).images; }},
        Change{"loss_classes", [](Program& p) { ++first_shape<LossShape>(p).classes; }},
        Change{"loss_weight", [](Program& p) { first_shape<LossShape>(p).image_weight *= 2; }},
        Change{
            "collective_communicator",
            [](Program& p) { first_shape<CollectiveShape>(p).communicator = CommunicatorId(1); }},
        Change{"collective_sequence",
               [](Program& p) { ++first_shape<CollectiveShape>(p).sequence; }},
        Change{"collective_elements",
               [](Program& p) { ++first_shape<CollectiveShape>(p).elements; }},
        Change{"collective_type",
               [](Program& p) { first_shape<CollectiveShape>(p).type = core::DataType::fp16; }},
        // The same four numbers as another shape.
        Change{"alternative",
               [](Program& p) {
                 const AttentionShape s = first_shape<AttentionShape>(p);
                 first_of(p, core::OperationKind::attention).shape =
                     PatchShape{s.batch, s.heads, s.tokens, s.head_dimension};
               }}),
    name_of_change);

// The same architecture under another name is the same Program.
TEST(ProgramHash, does_not_change_with_the_name_of_the_architecture) {
  Program program = sample();
  program.architecture.id = "renamed";
  EXPECT_EQ(program.hash(), sample().hash());
}

}  // namespace
}  // namespace paceline::models
