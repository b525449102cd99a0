#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Three ranks with two collectives each or more: width 128, depth 5 need more than one MiB.
std::vector<Program> three_good_programs() {
  Experiment experiment = test::tiny_experiment();
  experiment.model.width = 128;
  experiment.model.mlp_hidden = 512;
  experiment.model.depth = 5;
  experiment.parallel.world_size = 3;
  experiment.parallel.bucket_mib = 1;
  return test::programs_of_all_ranks(experiment);
}

/// The `number`th collective of a Program, to be changed.
Operation& collective(Program& program, std::size_t number) {
  for (Operation& operation : program.operations) {
    if (operation.kind == core::OperationKind::all_reduce && number-- == 0) return operation;
  }
  throw std::out_of_range("collective");
}

CollectiveShape& shape_of(Operation& operation) {
  return std::get<CollectiveShape>(operation.shape);
}

std::string refusal(const std::vector<Program>& programs) {
  return test::message_of<core::RunError>([&] {
    check_communicators(programs);
    return 0;
  });
}

TEST(CommunicatorCheck, accepts_ranks_that_agree) {
  EXPECT_EQ(refusal(three_good_programs()), "no exception");
}

TEST(CommunicatorCheck, accepts_one_rank_without_a_communicator) {
  EXPECT_EQ(refusal({lower_training(test::tiny_experiment(), 0)}), "no exception");
}

TEST(CommunicatorReject, another_count) {
  auto programs = three_good_programs();
  const std::int64_t good = shape_of(collective(programs[2], 1)).elements;
  shape_of(collective(programs[2], 1)).elements = good + 1;
  EXPECT_EQ(refusal(programs),
            "communicator \"world\": rank 2 issues communication.bucket1.all_reduce (all_reduce, "
            "ring, " +
                std::to_string(good + 1) +
                " × fp32, number 1) where rank 0 issues communication.bucket1.all_reduce "
                "(all_reduce, ring, " +
                std::to_string(good) +
                " × fp32, number 1) (members must issue the same collectives in the same order)");
}

TEST(CommunicatorReject, another_type) {
  auto programs = three_good_programs();
  shape_of(collective(programs[1], 0)).type = core::DataType::fp16;
  EXPECT_THAT(refusal(programs),
              AllOf(HasSubstr("rank 1 issues communication.bucket0.all_reduce"),
                    HasSubstr("× fp16, number 0) where rank 0"), HasSubstr("× fp32, number 0)")));
}

// All-reduce is the only kind today; another operation kind with a collective's shape stands for
// it.
TEST(CommunicatorReject, another_kind) {
  auto programs = three_good_programs();
  collective(programs[1], 0).kind = core::OperationKind::add;
  EXPECT_THAT(refusal(programs),
              AllOf(HasSubstr("rank 1 issues communication.bucket0.all_reduce (add, ring"),
                    HasSubstr("where rank 0 issues communication.bucket0.all_reduce (all_reduce")));
}

TEST(CommunicatorReject, two_collectives_in_another_order) {
  auto programs = three_good_programs();
  std::swap(collective(programs[2], 0), collective(programs[2], 1));
  EXPECT_THAT(refusal(programs),
              AllOf(HasSubstr("rank 2 issues communication.bucket1.all_reduce"),
                    HasSubstr("where rank 0 issues communication.bucket0.all_reduce")));
}

TEST(CommunicatorReject, one_that_is_missing_at_the_end) {
  auto programs = three_good_programs();
  auto& operations = programs[1].operations;
  std::size_t last = 0;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == core::OperationKind::all_reduce) last = i;
  }
  const std::string name = operations[last].name();
  const std::string left = std::to_string(operations[last].bucket);
  operations.erase(operations.begin() + static_cast<std::ptrdiff_t>(last));
  EXPECT_THAT(refusal(programs),
              AllOf(HasSubstr("rank 1 has issued all of its " + left + " where rank 0"),
                    HasSubstr("issues " + name)));
}

TEST(CommunicatorReject, one_too_many) {
  auto programs = three_good_programs();
  Operation extra = collective(programs[2], 0);
  extra.role = "extra";
  programs[2].operations.push_back(extra);
  EXPECT_THAT(refusal(programs), AllOf(HasSubstr("rank 2 issues communication.bucket0.extra"),
                                       HasSubstr("where rank 0 has issued all of its ")));
}

TEST(CommunicatorReject, names_the_first_rank_that_differs) {
  auto programs = three_good_programs();
  ++shape_of(collective(programs[2], 0)).elements;
  ++shape_of(collective(programs[1], 1)).elements;
  EXPECT_THAT(refusal(programs), HasSubstr("rank 1 issues communication.bucket1.all_reduce"));
}

TEST(CommunicatorReject, members_that_see_another_ring) {
  auto programs = three_good_programs();
  programs[1].communicators[0].ranks = {0, 2, 1};
  EXPECT_EQ(refusal(programs),
            "communicator \"world\": rank 1 lists other members than the ranks before it");
}

TEST(CommunicatorReject, a_member_that_has_no_program) {
  auto programs = three_good_programs();
  programs.pop_back();
  EXPECT_EQ(refusal(programs),
            "communicator \"world\": its member rank 2 has no Program (there are 2)");
}

}  // namespace
}  // namespace paceline::models
