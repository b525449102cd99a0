#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using core::Bytes;

/// Checks `property(program, plan)` for the first and the last rank of each varied step.
template <class Property>
void for_each_plan(Property property) {
  for (const Experiment& experiment : test::varied_experiments()) {
    SCOPED_TRACE(test::described(experiment));
    for (const std::int64_t rank : {INT64_C(0), experiment.parallel.world_size - 1}) {
      const Program program = lower_training(experiment, static_cast<int>(rank));
      property(program, plan_memory(program));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

std::vector<std::size_t> bases_of(const Program& program) {
  std::vector<std::size_t> bases;
  for (std::size_t i = 0; i < program.tensors.size(); ++i) {
    if (!program.tensors[i].base.valid()) bases.push_back(i);
  }
  return bases;
}

bool disjoint(std::int64_t first_begin, std::int64_t first_end, std::int64_t begin,
              std::int64_t end) {
  return first_end <= begin || end <= first_begin;
}

TEST(MemoryPlan, no_two_tensors_that_are_alive_at_once_overlap) {
  for_each_plan([](const Program& program, const MemoryPlan& plan) {
    const std::vector<std::size_t> bases = bases_of(program);
    for (std::size_t i = 0; i < bases.size(); ++i) {
      for (std::size_t j = i + 1; j < bases.size(); ++j) {
        const Lifetime& a = plan.lifetimes[bases[i]];
        const Lifetime& b = plan.lifetimes[bases[j]];
        if (a.last < b.first || b.last < a.first) continue;
        const std::int64_t a_begin = plan.offsets[bases[i]].value();
        const std::int64_t b_begin = plan.offsets[bases[j]].value();
        ASSERT_TRUE(disjoint(a_begin, a_begin + program.tensors[bases[i]].bytes().value(), b_begin,
                             b_begin + program.tensors[bases[j]].bytes().value()))
            << program.tensors[bases[i]].name() << " and " << program.tensors[bases[j]].name();
      }
    }
  });
}

TEST(MemoryPlan, every_tensor_lies_aligned_inside_the_arena) {
  for_each_plan([](const Program& program, const MemoryPlan& plan) {
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      ASSERT_GE(plan.offsets[i], Bytes(0));
      ASSERT_LE(plan.offsets[i] + program.tensors[i].bytes(), plan.arena);
      if (program.tensors[i].base.valid()) continue;
      ASSERT_EQ(plan.offsets[i].value() % memory_plan_alignment, 0);
    }
  });
}

TEST(MemoryPlan, every_view_lies_inside_its_base_and_beside_the_other_views) {
  for_each_plan([](const Program& program, const MemoryPlan& plan) {
    std::vector<std::vector<std::size_t>> views(program.tensors.size());
    for (std::size_t i = 0; i < program.tensors.size(); ++i) {
      const Tensor& view = program.tensors[i];
      if (!view.base.valid()) continue;
      const Tensor& base = program.at(view.base);
      ASSERT_FALSE(base.base.valid()) << "a view of a view: " << view.name();
      ASSERT_GE(view.offset, Bytes(0));
      ASSERT_LE(view.offset + view.bytes(), base.bytes()) << view.name();
      ASSERT_EQ(plan.offsets[i], plan.offsets[view.base.index()] + view.offset);
      for (const std::size_t other : views[view.base.index()]) {
        ASSERT_TRUE(
            disjoint(view.offset.value(), (view.offset + view.bytes()).value(),
                     program.tensors[other].offset.value(),
                     (program.tensors[other].offset + program.tensors[other].bytes()).value()))
            << view.name() << " and " << program.tensors[other].name();
      }
      views[view.base.index()].push_back(i);
    }
  });
}

Bytes alive_at(const Program& program, const MemoryPlan& plan, std::size_t position) {
  Bytes alive;
  for (const std::size_t i : bases_of(program)) {
    if (plan.lifetimes[i].first > position || plan.lifetimes[i].last < position) continue;
    const std::int64_t bytes = program.tensors[i].bytes().value();
    alive +=
        Bytes((bytes + memory_plan_alignment - 1) / memory_plan_alignment * memory_plan_alignment);
  }
  return alive;
}

TEST(MemoryPlan, peak_is_the_most_that_is_alive_and_no_more_than_the_arena) {
  for_each_plan([](const Program& program, const MemoryPlan& plan) {
    Bytes most;
    for (std::size_t i = 0; i < program.operations.size(); ++i) {
      most = std::max(most, alive_at(program, plan, i));
    }
    ASSERT_EQ(plan.peak_alive, most);
    ASSERT_EQ(alive_at(program, plan, plan.peak_operation), most);
    ASSERT_GE(plan.arena, plan.peak_alive);
    Bytes sum;
    for (const Bytes bytes : plan.peak_by_category) sum += bytes;
    ASSERT_EQ(sum, plan.peak_alive);
  });
}

// Parameters, gradients and two moments: 4 bytes each, padded to 64 bytes a bucket.
TEST(MemoryPlan, four_copies_of_the_parameters_stay_for_the_whole_step) {
  for_each_plan([](const Program& program, const MemoryPlan& plan) {
    using core::MemoryCategory;
    const std::int64_t exact = 4 * parameter_count(program.architecture);
    std::int64_t buckets = 0;
    for (const Operation& operation : program.operations) {
      buckets += operation.kind == core::OperationKind::adamw ? 1 : 0;
    }
    const std::int64_t padding = buckets * (memory_plan_alignment - 1);
    for (const auto& [category, copies] :
         {std::pair(MemoryCategory::parameters, 1), std::pair(MemoryCategory::gradients, 1),
          std::pair(MemoryCategory::optimizer_state, 2)}) {
      const std::int64_t bytes = plan.peak_by_category[category].value();
      ASSERT_GE(bytes, copies * exact);
      ASSERT_LE(bytes, copies * (exact + padding));
    }
  });
}

}  // namespace
}  // namespace paceline::models
