#include <gtest/gtest.h>

#include "core/error.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "tests/core/faults_of.hpp"

namespace paceline::models {
namespace {

TEST(MemoryPlanReject, a_tensor_that_is_read_before_any_operation_wrote_it) {
  Program program;
  program.tensors.push_back(
      {.role = "hidden", .layer = 3, .category = core::MemoryCategory::activations, .elements = 4});
  program.operations.push_back({.phase = core::Phase::forward,
                                .micro_step = 0,
                                .layer = 3,
                                .role = "mlp.act",
                                .inputs = {TensorId(0)}});
  program.dependency_offsets = {0, 0};
  EXPECT_EQ(test::message_of<core::InvariantError>([&] { return plan_memory(program); }),
            "operation forward.m0.blocks.3.mlp.act reads tensor activations.blocks.3.hidden, which "
            "no operation has written");
}

TEST(MemoryPlanReject, a_view_of_which_no_part_was_written) {
  Program program;
  program.tensors.push_back({.role = "flat", .elements = 4});
  program.tensors.push_back({.role = "part", .elements = 2, .base = TensorId(0)});
  program.operations.push_back({.role = "use", .inputs = {TensorId(1)}});
  program.dependency_offsets = {0, 0};
  EXPECT_THROW(static_cast<void>(plan_memory(program)), core::InvariantError);
}

}  // namespace
}  // namespace paceline::models
