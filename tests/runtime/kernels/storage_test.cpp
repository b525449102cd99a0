#include "runtime/training/storage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernel_case.hpp"
#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "training_run.hpp"

namespace paceline::runtime {
namespace {

using models::TensorId;

models::Program small_program() {
  return models::lower_training(kernels::experiment_of(kernels::small_model(), 2, 1), 0);
}

TensorId first_tensor(const models::Program& program, bool (*wanted)(const models::Tensor&)) {
  const auto found = std::find_if(program.tensors.begin(), program.tensors.end(), wanted);
  return TensorId(static_cast<std::size_t>(found - program.tensors.begin()));
}

TensorId labels_of(const models::Program& program) {
  return first_tensor(program,
                      [](const models::Tensor& t) { return t.type == core::DataType::int32; });
}
TensorId flat_parameters_of(const models::Program& program) {
  return first_tensor(program, [](const models::Tensor& t) {
    return t.role == "flat" && t.category == core::MemoryCategory::parameters;
  });
}

template <class Scalar>
class StorageOf : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(StorageOf, Scalars);

TYPED_TEST(StorageOf, gives_each_tensor_its_elements_at_the_planned_offset) {
  const models::Program program = small_program();
  const models::MemoryPlan plan = models::plan_memory(program);
  Storage<TypeParam> storage(program);
  constexpr std::size_t scale = sizeof(TypeParam) / sizeof(float);
  EXPECT_EQ(storage.size().value(), plan.arena.value() * static_cast<std::int64_t>(scale));
  const auto address = [](const auto& span) {
    return reinterpret_cast<std::uintptr_t>(span.data());
  };
  const std::uintptr_t start = address(storage.values(TensorId(0))) -
                               static_cast<std::size_t>(plan.offsets[0].value()) * scale;
  EXPECT_EQ(start % 64, 0U);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (program.tensors[i].type != core::DataType::fp32) continue;
    const auto values = storage.values(TensorId(i));
    EXPECT_EQ(static_cast<std::int64_t>(values.size()), program.tensors[i].elements);
    EXPECT_EQ(address(values) - start, static_cast<std::size_t>(plan.offsets[i].value()) * scale);
  }
}

TYPED_TEST(StorageOf, starts_persistent_tensors_at_zero_and_poisons_the_others_when_asked) {
  const models::Program program = small_program();
  const Storage<TypeParam> storage(program, FreshMemory::poisoned);
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    const models::Tensor& tensor = program.tensors[i];
    if (tensor.type != core::DataType::fp32) continue;
    const bool lives_on = tensor.persistent;
    for (const TypeParam value : storage.values(TensorId(i))) {
      EXPECT_TRUE(lives_on ? value == 0 : std::isnan(value)) << tensor.name();
    }
  }
}

TYPED_TEST(StorageOf, lays_parameters_into_their_flat_buffer) {
  const models::Program program = small_program();
  Storage<TypeParam> storage(program);
  for (const TensorId id : program.parameters) {
    const auto values = storage.values(id);
    std::fill(values.begin(), values.end(), TypeParam(1));
  }
  const auto flat = storage.values(flat_parameters_of(program));
  EXPECT_EQ(std::count(flat.begin(), flat.end(), TypeParam(1)),
            static_cast<std::ptrdiff_t>(flat.size()));
}

TYPED_TEST(StorageOf, holds_labels_as_integers) {
  const models::Program program = small_program();
  Storage<TypeParam> storage(program);
  const auto labels = storage.integers(labels_of(program));
  ASSERT_EQ(labels.size(), 2U);
  labels[1] = 7;
  EXPECT_EQ(std::as_const(storage).integers(labels_of(program))[1], 7);
}

TYPED_TEST(StorageOf, refuses_a_tensor_of_another_type_or_program) {
  const models::Program program = small_program();
  Storage<TypeParam> storage(program);
  const TensorId labels = labels_of(program);
  EXPECT_THAT([&] { (void)storage.values(labels); },
              testing::ThrowsMessage<core::InvariantError>(
                  "tensor " + std::to_string(labels.index()) + " holds int32 (asked for as fp32)"));
  EXPECT_THAT(
      [&] { (void)storage.integers(TensorId(0)); },
      testing::ThrowsMessage<core::InvariantError>("tensor 0 holds fp32 (asked for as int32)"));
  const std::string tensors = std::to_string(program.tensors.size());
  EXPECT_THAT([&] { (void)storage.values(TensorId(program.tensors.size())); },
              testing::ThrowsMessage<core::InvariantError>(
                  "tensor " + tensors + " of a storage of " + tensors + " tensors is asked for"));
  EXPECT_THROW((void)storage.values(TensorId()), core::InvariantError);
}

TEST(Storage, refuses_a_tensor_that_ends_beyond_it) {
  models::Program program = small_program();
  // A view of the flat buffer of parameters that begins far behind its end.
  program.tensors[program.parameters[0].index()].offset = core::Bytes(1 << 30);
  EXPECT_THAT([&] { Storage<float> storage(program); },
              testing::ThrowsMessage<core::InvariantError>(
                  testing::MatchesRegex("tensor parameters.* ends at byte .* of a storage of .*")));
}

}  // namespace
}  // namespace paceline::runtime
