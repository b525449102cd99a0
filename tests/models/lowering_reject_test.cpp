#include <gtest/gtest.h>

#include "core/error.hpp"
#include "models/lowering/lowering.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/models/small_experiments.hpp"

namespace paceline::models {
namespace {

std::string refusal(int rank) {
  Experiment experiment = test::tiny_experiment();
  experiment.parallel.world_size = 2;
  return test::message_of<core::InvariantError>([&] { return lower_training(experiment, rank); });
}

TEST(LoweringReject, a_rank_outside_the_world) {
  EXPECT_EQ(refusal(2), "rank 2 is not in a world of 2");
  EXPECT_EQ(refusal(-1), "rank -1 is not in a world of 2");
}

TEST(LoweringReject, no_rank_inside) {
  EXPECT_EQ(refusal(0), "no exception");
  EXPECT_EQ(refusal(1), "no exception");
}

}  // namespace
}  // namespace paceline::models
