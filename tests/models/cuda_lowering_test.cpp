#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "hardware_profiles/gpu.hpp"
#include "models/lowering/cuda.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using core::Bytes;
using core::DataType;
using core::FrameworkKind;
using core::OperationKind;
using core::Precision;
using hardware_profiles::DeviceCapabilities;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A card with these rates for fp32, tf32, fp16 and bf16.
hardware_profiles::Gpu card(const std::string& compute_capability, double tflop_per_s,
                            const std::vector<DataType>& types) {
  hardware_profiles::Gpu gpu;
  gpu.id = "card";
  gpu.compute_capability = compute_capability;
  gpu.memory_gib.value = tflop_per_s;
  gpu.memory_bandwidth_gb_per_s.value = 10 * tflop_per_s;
  gpu.streaming_multiprocessors.value = static_cast<std::int64_t>(tflop_per_s);
  for (const DataType type : types) {
    hardware_profiles::Sourced<double> peak;
    peak.value = tflop_per_s;
    gpu.dense_peak_tflop_per_s[type] = peak;
  }
  return gpu;
}

const std::vector<DataType> all_types{DataType::fp32, DataType::tf32, DataType::fp16,
                                      DataType::bf16};

DeviceCapabilities hopper() { return capabilities_of(card("9.0", 100, all_types)); }
DeviceCapabilities turing() {
  return capabilities_of(card("7.5", 8, {DataType::fp32, DataType::fp16}));
}

Experiment on(FrameworkKind framework, Precision precision = Precision::fp32) {
  Experiment experiment = test::tiny_experiment();
  experiment.framework.name = framework;
  experiment.training.precision = precision;
  return experiment;
}

Program cuda_program(const Experiment& experiment) {
  return lower_training(experiment, 0, hopper());
}

std::vector<std::string> names_of(const Program& program) {
  std::vector<std::string> names;
  for (const Operation& operation : program.operations) names.push_back(operation.name());
  return names;
}

std::vector<const Operation*> of_kind(const Program& program, OperationKind kind) {
  std::vector<const Operation*> found;
  for (const Operation& operation : program.operations) {
    if (operation.kind == kind) found.push_back(&operation);
  }
  return found;
}

std::size_t position_of(const Program& program, const std::string& name) {
  const std::vector<std::string> names = names_of(program);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::out_of_range(name);
  return static_cast<std::size_t>(found - names.begin());
}

const Operation& named(const Program& program, const std::string& name) {
  return program.operations[position_of(program, name)];
}

DataType type_of_output(const Program& program, const std::string& name, std::size_t output = 0) {
  return program.at(named(program, name).outputs[output]).type;
}

// Patches: 8·48 + 8 = 392; class token 8, positions 5·8 = 40; a block: two norms 2·16, qkv
// 24·8 + 24 = 216, projection 8·8 + 8 = 72, MLP 16·8 + 16 + 8·16 + 8 = 280, together 600; last norm
// 16, head 5·8 + 5 = 45: 392 + 8 + 40 + 2·600 + 16 + 45.
constexpr std::int64_t tiny_parameters = 1701;

// ---- what lowering may know
// ----------------------------------------------------------------------

class LoweringOfEqualDevices : public testing::TestWithParam<FrameworkKind> {};

TEST_P(LoweringOfEqualDevices, ignores_how_fast_they_are) {
  const auto slow = card("8.6", 10, all_types);
  const auto fast = card("8.6", 1000, all_types);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::amp_bf16}) {
    const Experiment experiment = on(GetParam(), precision);
    EXPECT_EQ(lower_training(experiment, 0, capabilities_of(slow)).hash(),
              lower_training(experiment, 0, capabilities_of(fast)).hash());
  }
}
INSTANTIATE_TEST_SUITE_P(Frameworks, LoweringOfEqualDevices,
                         testing::Values(FrameworkKind::pytorch_ddp, FrameworkKind::paceline),
                         [](const auto& one) { return std::string(core::spelling(one.param)); });

TEST(LoweringOfUnequalDevices, differs_where_their_attention_kernels_do) {
  const Experiment experiment = on(FrameworkKind::pytorch_ddp, Precision::amp_fp16);
  EXPECT_NE(lower_training(experiment, 0, hopper()).hash(),
            lower_training(experiment, 0, turing()).hash());
}

TEST(LoweringOfUnequalDevices, is_another_program_on_a_cpu_rank_than_on_a_card) {
  const Experiment experiment = on(FrameworkKind::paceline);
  EXPECT_EQ(lower_training(experiment, 0).interpreter, "paceline_cpu");
  EXPECT_EQ(lower_training(experiment, 0, hopper()).interpreter, "paceline_cuda");
}

// ---- passes
// --------------------------------------------------------------------------------------

Draft canonical(const Experiment& experiment) {
  Draft draft = start_draft(experiment, 0, experiment.micro_batch_of(0), true);
  canonical_micro_steps(draft, experiment.micro_batch_of(0));
  return draft;
}

TEST(BucketPass, lays_all_parameters_of_a_small_model_into_one_flat_tensor_without_gaps) {
  const Experiment experiment = on(FrameworkKind::paceline);
  Draft draft = canonical(experiment);
  pass_bucket(draft);
  ASSERT_THAT(draft.buckets, SizeIs(1));
  EXPECT_EQ(draft.buckets[0].elements, tiny_parameters);
  std::int64_t next = 0;
  for (const std::size_t index : draft.ready_order) {
    const Tensor& parameter = draft.program.at(draft.program.parameters[index]);
    EXPECT_EQ(parameter.offset, Bytes(4 * next)) << parameter.name();
    EXPECT_EQ(parameter.base, draft.buckets[0].parameters);
    EXPECT_EQ(draft.program.at(draft.program.gradients[index]).offset, parameter.offset);
    next += parameter.elements;
  }
}

// Width 600: the weights of qkv (1800·600·4 = 4,320,000 bytes), of the projection (1,440,000) and
// of the MLP (600·1000·4 = 2,400,000) exceed 1 MiB.
TEST(BucketPass, gives_a_parameter_beyond_the_limit_a_bucket_of_its_own) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.model.width = 600;
  experiment.model.mlp_hidden = 1000;
  experiment.model.depth = 1;
  experiment.parallel.bucket_mib = 1;
  Draft draft = canonical(experiment);
  pass_bucket(draft);
  std::vector<std::int64_t> beyond;
  for (const Draft::Bucket& bucket : draft.buckets) {
    if (4 * bucket.elements > 1024 * 1024) beyond.push_back(bucket.elements);
  }
  EXPECT_THAT(beyond, ElementsAre(600 * 1000, 600 * 1000, 600 * 600, 1800 * 600));
}

TEST(CommunicatePass, exchanges_a_bucket_after_the_operation_that_completes_it) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.parallel.world_size = 2;
  Draft draft = canonical(experiment);
  pass_bucket(draft);
  pass_communicate(draft);
  const std::size_t last = position_of(draft.program, "backward.m0.patch_embed.proj.bias_gradient");
  const Operation& exchange = draft.program.operations.at(last + 1);
  EXPECT_EQ(exchange.kind, OperationKind::all_reduce);
  EXPECT_EQ(exchange.stream, core::Stream::communication);
  EXPECT_EQ(std::get<CollectiveShape>(exchange.shape).elements, tiny_parameters);
}

TEST(CommunicatePass, without_overlap_exchanges_on_the_compute_stream) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.parallel.world_size = 2;
  experiment.parallel.overlap = false;
  Draft draft = canonical(experiment);
  pass_bucket(draft);
  pass_communicate(draft);
  EXPECT_EQ(draft.program.operations.back().kind, OperationKind::all_reduce);
  EXPECT_EQ(draft.program.operations.back().stream, core::Stream::compute);
}

TEST(CommunicatePass, adds_nothing_for_one_rank) {
  const Experiment experiment = on(FrameworkKind::paceline);
  Draft draft = canonical(experiment);
  pass_bucket(draft);
  pass_communicate(draft);
  EXPECT_THAT(of_kind(draft.program, OperationKind::all_reduce), IsEmpty());
  EXPECT_THAT(draft.program.communicators, IsEmpty());
}

std::vector<std::string> tail_of(const Program& program) {
  std::vector<std::string> tail;
  for (const Operation& operation : program.operations) {
    if (operation.phase == core::Phase::optimizer) tail.push_back(operation.name());
  }
  return tail;
}

TEST(ClipPass, squares_every_bucket_then_scales_it_before_the_update) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.training.clip_norm = 1.0;
  EXPECT_THAT(tail_of(cuda_program(experiment)),
              ElementsAre("optimizer.bucket0.gradient_norm", "optimizer.clip_coefficient",
                          "optimizer.bucket0.clip", "optimizer.bucket0.adamw"));
}

TEST(ClipPass, adds_nothing_without_a_norm) {
  EXPECT_THAT(tail_of(cuda_program(on(FrameworkKind::paceline))),
              ElementsAre("optimizer.bucket0.adamw"));
}

// Gradient, weight and momentum are read, weight and momentum written: 4 bytes each.
TEST(OptimizePass, sgd_with_momentum_keeps_one_moment) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.training.optimizer = core::OptimizerKind::sgd;
  const Program program = cuda_program(experiment);
  const Operation& update = program.operations.back();
  EXPECT_EQ(update.name(), "optimizer.bucket0.sgd");
  EXPECT_EQ(update.bytes_read, Bytes(3 * 4 * tiny_parameters));
  EXPECT_EQ(update.bytes_written, Bytes(2 * 4 * tiny_parameters));
}

TEST(OptimizePass, sgd_without_momentum_keeps_none) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.training.optimizer = core::OptimizerKind::sgd;
  experiment.training.momentum = 0.0;
  const Program program = cuda_program(experiment);
  const Operation& update = program.operations.back();
  EXPECT_EQ(update.bytes_read, Bytes(2 * 4 * tiny_parameters));
  EXPECT_EQ(update.bytes_written, Bytes(4 * tiny_parameters));
  for (const Tensor& tensor : program.tensors) {
    EXPECT_NE(tensor.category, core::MemoryCategory::optimizer_state) << tensor.name();
  }
}

// 3 images × 2 heads × 5 tokens: a logarithm for each of 30 rows instead of 30·5 probabilities.
TEST(FusePass, attention_keeps_one_logarithm_a_row) {
  const Program program = cuda_program(on(FrameworkKind::paceline));
  const Operation& attention = named(program, "forward.m0.blocks.0.attn.core");
  EXPECT_EQ(program.at(attention.outputs[1]).role, "attn.logsumexp");
  EXPECT_EQ(program.at(attention.outputs[1]).elements, 30);
  const Operation& gradient = named(program, "backward.m0.blocks.0.attn.core.gradient");
  ASSERT_EQ(gradient.inputs.size(), 4U);
  EXPECT_EQ(gradient.inputs[3], attention.outputs[0]);
  EXPECT_EQ(program.at(gradient.outputs[1]).elements, 30);
}

TEST(FusePass, the_activations_gradient_makes_the_bias_gradient_of_the_layer_before) {
  const Program program = cuda_program(on(FrameworkKind::paceline));
  const Operation& gradient = named(program, "backward.m0.blocks.1.mlp.act.gradient");
  ASSERT_EQ(gradient.outputs.size(), 2U);
  EXPECT_EQ(program.at(gradient.outputs[1]).name(), "gradients.blocks.1.mlp.fc1.bias");
  EXPECT_THAT(names_of(program),
              testing::Not(testing::Contains("backward.m0.blocks.1.mlp.fc1.bias_gradient")));
}

// ---- precision
// -----------------------------------------------------------------------------------

struct PrecisionCase {
  Precision precision;
  DataType products, parameters, gradients, activations;
  std::size_t casts;  // of weights, one a bucket
  std::int64_t wire_bytes_per_element;
};

class PrecisionPass : public testing::TestWithParam<PrecisionCase> {};

TEST_P(PrecisionPass, gives_each_tensor_and_the_wire_its_type) {
  const PrecisionCase& expected = GetParam();
  Experiment experiment = on(FrameworkKind::paceline, expected.precision);
  experiment.parallel.world_size = 2;
  const Program program = cuda_program(experiment);
  for (const Operation* product : of_kind(program, OperationKind::matmul)) {
    EXPECT_EQ(product->type, expected.products) << product->name();
  }
  for (const TensorId id : program.parameters) {
    EXPECT_EQ(program.at(id).type, expected.parameters) << program.at(id).name();
  }
  for (const TensorId id : program.gradients) {
    EXPECT_EQ(program.at(id).type, expected.gradients) << program.at(id).name();
  }
  EXPECT_EQ(type_of_output(program, "forward.m0.blocks.0.attn.qkv"), expected.activations);
  EXPECT_EQ(type_of_output(program, "forward.m0.blocks.0.norm1"), expected.activations);
  EXPECT_EQ(type_of_output(program, "forward.m0.blocks.0.norm1", 1), DataType::fp32);
  EXPECT_EQ(type_of_output(program, "forward.m0.blocks.0.residual1"), DataType::fp32);
  EXPECT_EQ(type_of_output(program, "forward.m0.loss"), DataType::fp32);
  EXPECT_THAT(of_kind(program, OperationKind::cast), SizeIs(expected.casts));
  // Two ranks: each sends 2·(2 − 1)/2 of the buffer.
  const auto exchanges = of_kind(program, OperationKind::all_reduce);
  ASSERT_THAT(exchanges, SizeIs(1));
  EXPECT_EQ(core::bytes_per_element(std::get<CollectiveShape>(exchanges[0]->shape).type),
            expected.wire_bytes_per_element);
}
INSTANTIATE_TEST_SUITE_P(
    AllSix, PrecisionPass,
    testing::Values(PrecisionCase{Precision::fp32, DataType::fp32, DataType::fp32, DataType::fp32,
                                  DataType::fp32, 0, 4},
                    PrecisionCase{Precision::tf32, DataType::tf32, DataType::fp32, DataType::fp32,
                                  DataType::fp32, 0, 4},
                    PrecisionCase{Precision::amp_fp16, DataType::fp16, DataType::fp32,
                                  DataType::fp32, DataType::fp16, 1, 4},
                    PrecisionCase{Precision::amp_bf16, DataType::bf16, DataType::fp32,
                                  DataType::fp32, DataType::bf16, 1, 4},
                    PrecisionCase{Precision::fp16_master, DataType::fp16, DataType::fp16,
                                  DataType::fp16, DataType::fp16, 0, 2},
                    PrecisionCase{Precision::bf16_master, DataType::bf16, DataType::bf16,
                                  DataType::bf16, DataType::bf16, 0, 2}),
    [](const auto& one) { return std::string(core::spelling(one.param.precision)); });

// AdamW reads a 16-bit gradient and weight, two moments and the master copy; writes all but the
// gradient.
TEST(PrecisionPassOfMasterWeights, updates_a_full_copy_beside_the_moments) {
  const Program program = cuda_program(on(FrameworkKind::paceline, Precision::bf16_master));
  const Operation& update = program.operations.back();
  EXPECT_EQ(update.bytes_read, Bytes((2 + 2 + 3 * 4) * tiny_parameters));
  EXPECT_EQ(update.bytes_written, Bytes((2 + 3 * 4) * tiny_parameters));
  EXPECT_EQ(program.at(update.inputs[4]).role, "master_weights");
}

TEST(PrecisionPassOfMasterWeights, accumulates_and_exchanges_fp32_over_several_micro_steps) {
  Experiment experiment = on(FrameworkKind::paceline, Precision::bf16_master);
  experiment.training.accumulation_steps = 2;
  experiment.parallel.world_size = 2;
  const Program program = cuda_program(experiment);
  EXPECT_EQ(program.at(program.gradients[0]).type, DataType::fp32);
  const auto exchanges = of_kind(program, OperationKind::all_reduce);
  ASSERT_THAT(exchanges, SizeIs(1));
  EXPECT_EQ(std::get<CollectiveShape>(exchanges[0]->shape).type, DataType::fp32);
}

TEST(PrecisionPassOfAutocast, products_read_the_half_copy_that_the_cast_wrote) {
  const Program program = cuda_program(on(FrameworkKind::paceline, Precision::amp_fp16));
  const Operation& cast = program.operations.front();
  EXPECT_EQ(cast.kind, OperationKind::cast);
  const Tensor& weight = program.at(named(program, "forward.m0.head").inputs[1]);
  EXPECT_EQ(weight.base, cast.outputs[0]);
  EXPECT_EQ(weight.type, DataType::fp16);
}

// ---- activation checkpointing, pooling
// -----------------------------------------------------------

TEST(Checkpointing, repeats_a_block_up_to_its_activation_before_that_blocks_gradients) {
  Experiment experiment = on(FrameworkKind::paceline);
  experiment.training.activation_checkpointing = core::ActivationCheckpointing::full;
  const Program program = cuda_program(experiment);
  std::vector<std::string> repeated;
  for (const Operation& operation : program.operations) {
    if (operation.recomputed) {
      repeated.push_back(std::to_string(operation.layer) + " " + std::string(operation.role));
    }
  }
  EXPECT_THAT(repeated, ElementsAre("1 norm1", "1 attn.qkv", "1 attn.core", "1 attn.proj",
                                    "1 residual1", "1 norm2", "1 mlp.fc1", "1 mlp.act",  //
                                    "0 norm1", "0 attn.qkv", "0 attn.core", "0 attn.proj",
                                    "0 residual1", "0 norm2", "0 mlp.fc1", "0 mlp.act"));
  const auto first_of = [&](int layer) {
    return std::find_if(program.operations.begin(), program.operations.end(),
                        [&](const auto& o) { return o.recomputed && o.layer == layer; }) -
           program.operations.begin();
  };
  const auto at = [&](const char* name) {
    return static_cast<std::ptrdiff_t>(position_of(program, name));
  };
  EXPECT_LT(at("backward.m0.norm.gradient"), first_of(1));
  EXPECT_LT(first_of(1), at("backward.m0.blocks.1.mlp.fc2.input_gradient"));
  EXPECT_LT(at("backward.m0.blocks.1.residual1.gradient"), first_of(0));
  EXPECT_LT(first_of(0), at("backward.m0.blocks.0.mlp.fc2.input_gradient"));
}

TEST(Pooling, takes_the_class_token_where_there_is_one_and_else_the_mean) {
  Experiment experiment = on(FrameworkKind::paceline);
  EXPECT_THAT(of_kind(cuda_program(experiment), OperationKind::select_class_token), SizeIs(1));
  experiment.model.class_token = false;
  const Program program = cuda_program(experiment);
  EXPECT_THAT(of_kind(program, OperationKind::select_class_token), IsEmpty());
  EXPECT_THAT(of_kind(program, OperationKind::mean_pool), SizeIs(1));
  EXPECT_THAT(of_kind(program, OperationKind::mean_pool_gradient), SizeIs(1));
}

// ---- bytes of all collectives
// --------------------------------------------------------------------

Bytes sent_by_all(const Experiment& experiment, const DeviceCapabilities& capabilities) {
  Bytes sum;
  for (int rank = 0; rank < static_cast<int>(experiment.parallel.world_size); ++rank) {
    const Program program = lower_training(experiment, rank, capabilities);
    for (const Operation* one : of_kind(program, OperationKind::all_reduce)) {
      sum += one->bytes_read;
    }
  }
  return sum;
}

// A ring sends 2(n − 1) slices of each member's buffer a step; over all members the slices of a
// step are the buffer: 2(n − 1) · bytes. Sliced unevenly, too: 1701 is no multiple of 2, 4 or 8.
TEST(BytesOfAllCollectives, are_two_times_n_minus_one_buffers) {
  for (const std::int64_t ranks : {2, 3, 4, 8}) {
    for (const std::int64_t accumulation : {1, 3}) {
      for (const FrameworkKind framework : {FrameworkKind::paceline, FrameworkKind::pytorch_ddp}) {
        Experiment experiment = on(framework);
        experiment.parallel.world_size = ranks;
        experiment.training.accumulation_steps = accumulation;
        const Bytes expected(2 * (ranks - 1) * 4 * tiny_parameters);
        EXPECT_EQ(sent_by_all(experiment, hopper()), expected);
        if (framework == FrameworkKind::paceline) {
          EXPECT_EQ(sent_by_all(experiment, DeviceCapabilities::cpu_rank()), expected);
        }
      }
    }
  }
}

TEST(BytesOfAllCollectives, without_no_sync_count_once_a_micro_step) {
  Experiment experiment = on(FrameworkKind::pytorch_ddp);
  experiment.parallel.world_size = 4;
  experiment.training.accumulation_steps = 3;
  experiment.framework.no_sync = false;
  EXPECT_EQ(sent_by_all(experiment, hopper()), Bytes(3 * 2 * (4 - 1) * 4 * tiny_parameters));
}

TEST(BytesOfAllCollectives, are_halved_by_master_weights_and_not_by_autocast) {
  for (const auto& [precision, bytes] :
       {std::pair{Precision::fp16_master, 2}, std::pair{Precision::bf16_master, 2},
        std::pair{Precision::amp_fp16, 4}, std::pair{Precision::amp_bf16, 4}}) {
    Experiment experiment = on(FrameworkKind::paceline, precision);
    experiment.parallel.world_size = 4;
    EXPECT_EQ(sent_by_all(experiment, hopper()), Bytes(2 * (4 - 1) * bytes * tiny_parameters));
  }
  Experiment experiment = on(FrameworkKind::pytorch_ddp, Precision::amp_bf16);
  experiment.parallel.world_size = 4;
  EXPECT_EQ(sent_by_all(experiment, hopper()), Bytes(2 * (4 - 1) * 4 * tiny_parameters));
}

// ---- refusals
// ------------------------------------------------------------------------------------

TEST(CudaLoweringReject, a_type_that_the_device_does_not_multiply) {
  const auto faults = test::faults_of(
      [] { return lower_training(on(FrameworkKind::paceline, Precision::amp_bf16), 0, turing()); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, "/training/precision");
  EXPECT_EQ(faults[0].problem,
            "got \"amp_bf16\" (the device multiplies no bf16, only fp32, fp16; choose a precision "
            "of these)");
}

TEST(CudaLoweringReject, master_weights_under_pytorch) {
  const auto faults = test::faults_of([] {
    return lower_training(on(FrameworkKind::pytorch_ddp, Precision::bf16_master), 0, hopper());
  });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, "/training/precision");
  EXPECT_EQ(faults[0].problem,
            "got \"bf16_master\" (pytorch_ddp trains fp32 weights: use amp_fp16 or amp_bf16)");
}

}  // namespace
}  // namespace paceline::models
