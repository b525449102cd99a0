#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "hand_made.hpp"
#include "sim/predict/predict.hpp"

namespace paceline::sim {
namespace {

using core::OperationKind;
using core::Stream;
using ::testing::AllOf;
using testing::HandMadeProgram;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

hardware_profiles::Cluster cluster_for(const models::Experiment& experiment, int levels) {
  core::Random random(3);
  return testing::meshed_cluster(static_cast<int>(experiment.parallel.world_size),
                                 {testing::random_device("cpu", experiment, levels, random)}, 2,
                                 1000);
}

template <class Matcher>
void expect_config_error(const models::Experiment& experiment,
                         const hardware_profiles::Cluster& cluster, Matcher matcher) {
  EXPECT_THAT([&] { static_cast<void>(predict(experiment, cluster)); },
              ThrowsMessage<core::ConfigError>(matcher));
}

TEST(PredictRejects, a_number_of_active_ranks_that_was_not_measured) {
  const models::Experiment experiment = testing::small_experiment(4);
  expect_config_error(
      experiment, cluster_for(experiment, 2),
      HasSubstr("hand_made.json#/cpu_devices/cpu/levels: cpu was measured with 1 and 2 active "
                "ranks, not 4: mpirun -n 4 paceline-rt calibrate --out measurements.json"));
}

TEST(PredictRejects, a_device_that_was_measured_alone) {
  const models::Experiment experiment = testing::small_experiment(2);
  expect_config_error(experiment, cluster_for(experiment, 1),
                      HasSubstr("cpu was measured with 1 active rank, not 2"));
}

TEST(PredictRejects, a_level_for_more_ranks_than_there_are) {
  const models::Experiment experiment = testing::small_experiment(2);
  auto cluster = cluster_for(experiment, 2);
  cluster.cpu_devices.at("cpu").levels.at(1).active_ranks = 4;
  expect_config_error(experiment, cluster,
                      HasSubstr("cpu was measured with 1 and 4 active ranks, not 2"));
}

TEST(PredictRejects, kernel_classes_that_were_not_measured_naming_all) {
  const models::Experiment experiment = testing::small_experiment(1);
  auto cluster = cluster_for(experiment, 1);
  auto& kernels = cluster.cpu_devices.at("cpu").levels.front().kernels;
  kernels.erase("adamw");
  kernels.erase("gelu");
  kernels.at("layer_norm").us_per_feature.erase("rows");
  expect_config_error(
      experiment, cluster,
      AllOf(HasSubstr("hand_made.json#/cpu_devices/cpu/levels/0/kernels: no class \"adamw\" "
                      "(needed by optimizer.bucket0.adamw; measure it with paceline-rt calibrate"),
            HasSubstr("no class \"gelu\" (needed by forward.m0.blocks.0.mlp.act and 1 more"),
            HasSubstr("no feature \"rows\" of class \"layer_norm\"")));
}

TEST(PredictRejects, fewer_slots_than_ranks) {
  const auto cluster = cluster_for(testing::small_experiment(2), 4);
  expect_config_error(testing::small_experiment(4), cluster,
                      HasSubstr("has places for 2 ranks, the experiment has 4"));
}

TEST(PredictRejects, ranks_without_a_way_between_them_once) {
  const models::Experiment experiment = testing::small_experiment(2);
  auto cluster = cluster_for(experiment, 2);
  cluster.links.clear();
  try {
    static_cast<void>(predict(experiment, cluster));
    FAIL() << "no error";
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no way from"));
    EXPECT_EQ(error.faults().size(), 2u);  // one a direction
  }
}

TEST(PredictRejects, a_host_without_memory) {
  const models::Experiment experiment = testing::small_experiment(1);
  auto cluster = cluster_for(experiment, 1);
  cluster.cpu_devices.at("cpu").memory_gib = 0;
  expect_config_error(experiment, cluster, HasSubstr("/cpu_devices/cpu/memory_gib: got 0"));
}

TEST(PredictRejects, kernels_that_take_for_ever) {
  const models::Experiment experiment = testing::small_experiment(1);
  auto cluster = cluster_for(experiment, 1);
  cluster.cpu_devices.at("cpu").levels.front().kernels.at("adamw").us_per_feature["call"] = 8.0e12;
  cluster.cpu_devices.at("cpu").levels.front().kernels.at("gelu").us_per_feature["call"] = 8.0e12;
  EXPECT_THAT([&] { static_cast<void>(predict(experiment, cluster)); },
              ThrowsMessage<core::RunError>(HasSubstr("simulated time ends at 100 days")));
}

// The check over all Programs would refuse this; the simulation itself says who waits for whom.
TEST(Deadlock, a_rank_that_issues_one_collective_less_is_named_with_who_waits_for_it) {
  const auto cluster =
      testing::meshed_cluster(2, {testing::device_of_calls("cpu", 2, {{"gelu", 1}})}, 1, 1000);
  const auto program = [](int rank, int collectives) {
    HandMadeProgram result(rank, 2);
    result.kernel(OperationKind::gelu, "a");
    if (collectives > 0) result.all_reduce(1000, Stream::compute, "first");
    if (collectives > 1) result.all_reduce(1000, Stream::compute, "second");
    return result.build();
  };
  EXPECT_THAT([&] { testing::Simulated({program(0, 2), program(1, 1)}, cluster); },
              ThrowsMessage<core::RunError>(AllOf(
                  HasSubstr("nothing can go on:"),
                  HasSubstr("rank 0 waits in communication.second (collective 1 of \"world\" in "
                            "training step 0) for rank 1 to post ring step 0 of 2"),
                  HasSubstr("rank 1 waits in communication.first (collective 0 of \"world\" in "
                            "training step 1) for rank 0 to post ring step 0 of 2"))));
  EXPECT_THAT([&] { testing::Simulated({program(0, 1), program(1, 0)}, cluster); },
              ThrowsMessage<core::RunError>(HasSubstr("rank 1 has ended all of its 12 steps")));
}

TEST(Costing, an_operation_that_depends_on_a_later_one_is_refused) {
  const auto cluster =
      testing::meshed_cluster(1, {testing::device_of_calls("cpu", 1, {{"gelu", 1}})}, 1, 1000);
  models::Program program = HandMadeProgram(0, 1)
                                .kernel(OperationKind::gelu, "a")
                                .kernel(OperationKind::gelu, "b")
                                .build();
  program.dependencies = {models::OperationId(1)};
  program.dependency_offsets = {0, 1, 1};
  EXPECT_THAT([&] { testing::Simulated({program}, cluster); },
              ThrowsMessage<core::InvariantError>(
                  HasSubstr("forward.a depends on forward.b, which is issued after it")));
}

TEST(Costing, a_rank_outside_the_communicator_is_refused) {
  const auto cluster =
      testing::meshed_cluster(1, {testing::device_of_calls("cpu", 1, {{"gelu", 1}})}, 1, 1000);
  models::Program program = HandMadeProgram(0, 1).all_reduce(10, Stream::compute, "a").build();
  program.communicators.front().ranks = {1};
  EXPECT_THAT([&] { testing::Simulated({program}, cluster); },
              ThrowsMessage<core::InvariantError>(HasSubstr("rank 0 is not in \"world\"")));
}

}  // namespace
}  // namespace paceline::sim
