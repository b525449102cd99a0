#include "models/memory_plan/memory_plan.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace paceline::models {
namespace {

using core::Bytes;

/// A Program written by hand: tensors in bytes (of type uint8), operations by what they touch.
class HandMade {
 public:
  TensorId tensor(std::int64_t bytes,
                  core::MemoryCategory category = core::MemoryCategory::activations) {
    program_.tensors.push_back(
        {.role = "t", .category = category, .type = core::DataType::uint8, .elements = bytes});
    return TensorId(program_.tensors.size() - 1);
  }
  TensorId persistent(std::int64_t bytes) {
    const TensorId id = tensor(bytes, core::MemoryCategory::parameters);
    program_.tensors[id.index()].persistent = true;
    return id;
  }
  TensorId view(TensorId base, std::int64_t offset, std::int64_t bytes) {
    const TensorId id = tensor(bytes);
    program_.tensors[id.index()].base = base;
    program_.tensors[id.index()].offset = Bytes(offset);
    return id;
  }
  OperationId operation(TensorList inputs, TensorList outputs,
                        core::Stream stream = core::Stream::compute,
                        std::initializer_list<OperationId> waits_for = {}) {
    program_.operations.push_back(
        {.stream = stream, .role = "step", .inputs = inputs, .outputs = outputs});
    program_.dependencies.insert(program_.dependencies.end(), waits_for);
    offsets_.push_back(static_cast<std::uint32_t>(program_.dependencies.size()));
    program_.dependency_offsets = offsets_;
    return OperationId(program_.operations.size() - 1);
  }
  [[nodiscard]] MemoryPlan plan() const { return plan_memory(program_); }

 private:
  Program program_;
  std::vector<std::uint32_t> offsets_{0};
};

Bytes offset_of(const MemoryPlan& plan, TensorId id) { return plan.offsets.at(id.index()); }
Lifetime lifetime_of(const MemoryPlan& plan, TensorId id) { return plan.lifetimes.at(id.index()); }

// a (256) lives over operations 0-1, b (128) over 1-2, c (192) over 2 alone. Largest first: a at 0;
// c at 0, since a is gone; b meets both and comes after a, at 256. Arena 256 + 128 = 384. Alive:
// 256, then 256 + 128, then 128 + 192.
TEST(MemoryPlan, of_a_chain_derived_by_hand) {
  HandMade program;
  const TensorId a = program.tensor(256);
  const TensorId b = program.tensor(128);
  const TensorId c = program.tensor(192);
  program.operation({}, {a});
  program.operation({a}, {b});
  program.operation({b}, {c});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(offset_of(plan, a), Bytes(0));
  EXPECT_EQ(offset_of(plan, c), Bytes(0));
  EXPECT_EQ(offset_of(plan, b), Bytes(256));
  EXPECT_EQ(plan.arena, Bytes(384));
  EXPECT_EQ(plan.peak_alive, Bytes(384));
  EXPECT_EQ(plan.peak_operation, 1U);
  EXPECT_EQ(plan.peak_by_category[core::MemoryCategory::activations], Bytes(384));
}

// However long a chain of equal tensors is, two of them are alive at once.
TEST(MemoryPlan, of_a_long_chain_takes_two_tensors) {
  HandMade program;
  TensorId last = program.tensor(1'024);
  program.operation({}, {last});
  for (int i = 0; i < 50; ++i) {
    const TensorId next = program.tensor(1'024);
    program.operation({last}, {next});
    last = next;
  }
  EXPECT_EQ(program.plan().arena, Bytes(2'048));
}

// a, b and c are alive together; b is gone when d comes, and d (64) takes the hole that b left.
TEST(MemoryPlan, fills_the_lowest_hole) {
  HandMade program;
  const TensorId a = program.tensor(512);
  const TensorId b = program.tensor(256);
  const TensorId c = program.tensor(128);
  const TensorId d = program.tensor(64);
  program.operation({}, {a, b, c});
  program.operation({a, c}, {d});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(offset_of(plan, a), Bytes(0));
  EXPECT_EQ(offset_of(plan, b), Bytes(512));
  EXPECT_EQ(offset_of(plan, c), Bytes(768));
  EXPECT_EQ(offset_of(plan, d), Bytes(512));
  EXPECT_EQ(plan.arena, Bytes(896));
}

TEST(MemoryPlan, starts_every_tensor_at_a_multiple_of_64_bytes) {
  HandMade program;
  const TensorId a = program.tensor(65);
  const TensorId b = program.tensor(1);
  program.operation({}, {a, b});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(offset_of(plan, a), Bytes(0));
  EXPECT_EQ(offset_of(plan, b), Bytes(128));
  EXPECT_EQ(plan.arena, Bytes(192));
  EXPECT_EQ(plan.peak_alive, Bytes(192));
}

TEST(MemoryPlan, keeps_persistent_tensors_for_the_whole_step) {
  HandMade program;
  const TensorId weight = program.persistent(64);
  const TensorId x = program.tensor(64);
  const TensorId y = program.tensor(64);
  program.operation({}, {x});
  program.operation({x, weight}, {y});
  program.operation({y}, {});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(lifetime_of(plan, weight).first, 0U);
  EXPECT_EQ(lifetime_of(plan, weight).last, 2U);
  EXPECT_EQ(plan.arena, Bytes(192));
  EXPECT_EQ(plan.peak_by_category[core::MemoryCategory::parameters], Bytes(64));
}

// A persistent tensor may be read first: it holds what the last step left.
TEST(MemoryPlan, lets_a_persistent_tensor_be_read_before_it_is_written) {
  HandMade program;
  const TensorId weight = program.persistent(64);
  program.operation({weight}, {weight});
  EXPECT_EQ(program.plan().arena, Bytes(64));
}

TEST(MemoryPlan, puts_views_inside_their_base_and_gives_them_its_life) {
  HandMade program;
  const TensorId base = program.tensor(256);
  const TensorId first = program.view(base, 0, 100);
  const TensorId second = program.view(base, 100, 156);
  const TensorId other = program.tensor(512);
  program.operation({}, {first, other});
  program.operation({other}, {second});
  program.operation({first}, {});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(offset_of(plan, base), Bytes(512));
  EXPECT_EQ(offset_of(plan, first), Bytes(512));
  EXPECT_EQ(offset_of(plan, second), Bytes(612));
  for (const TensorId id : {base, first, second}) {
    EXPECT_EQ(lifetime_of(plan, id).first, 0U);
    EXPECT_EQ(lifetime_of(plan, id).last, 2U);
  }
  EXPECT_EQ(plan.arena, Bytes(768));  // a view takes no memory of its own
}

// What a collective uses is in use until the operation that waits for it, wherever it was issued.
TEST(MemoryPlan, keeps_what_a_collective_uses_until_somebody_waits_for_it) {
  HandMade program;
  const TensorId buffer = program.tensor(64);
  const TensorId meanwhile = program.tensor(64);
  program.operation({}, {buffer});
  const OperationId collective = program.operation({buffer}, {buffer}, core::Stream::communication);
  program.operation({}, {meanwhile});
  program.operation({meanwhile}, {}, core::Stream::compute, {collective});
  const MemoryPlan plan = program.plan();
  EXPECT_EQ(lifetime_of(plan, buffer).last, 3U);
  EXPECT_EQ(plan.arena, Bytes(128));
}

TEST(MemoryPlan, keeps_a_tensor_that_nobody_uses_for_the_whole_step) {
  HandMade program;
  const TensorId idle = program.tensor(64);
  const TensorId x = program.tensor(64);
  program.operation({}, {x});
  program.operation({x}, {});
  EXPECT_EQ(lifetime_of(program.plan(), idle).last, 1U);
  EXPECT_EQ(program.plan().arena, Bytes(128));
}

TEST(MemoryPlan, of_nothing_is_empty) {
  Program nothing;
  nothing.dependency_offsets = {0};
  const MemoryPlan plan = plan_memory(nothing);
  EXPECT_EQ(plan.arena, Bytes(0));
  EXPECT_EQ(plan.peak_alive, Bytes(0));
}

}  // namespace
}  // namespace paceline::models
