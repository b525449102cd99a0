#include "sim/predict/predict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/report.hpp"
#include "hand_made.hpp"
#include "models/architecture.hpp"
#include "models/lowering/lowering.hpp"
#include "models/memory_plan/memory_plan.hpp"
#include "sim/memory/memory_fit.hpp"
#include "sim/predict/bottleneck.hpp"
#include "sim/predict/epoch.hpp"
#include "sim/predict/interval.hpp"

namespace paceline::sim {
namespace {

using core::Cause;
using core::TimelinePhase;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

hardware_profiles::Cluster cluster_for(const models::Experiment& experiment, double link = 1000) {
  core::Random random(11);
  const int ranks = static_cast<int>(experiment.parallel.world_size);
  return testing::meshed_cluster(ranks, {testing::random_device("cpu", experiment, ranks, random)},
                                 2, link);
}

double sum_of(const core::PhaseTimes& phases) {
  double sum = 0;
  for (const double phase : phases) sum += phase;
  return sum;
}

TEST(Predict, a_report_of_two_ranks_is_complete) {
  models::Experiment experiment = testing::small_experiment(2);
  experiment.training.dataset.samples = 1000;
  const auto cluster = cluster_for(experiment);
  const core::Report report = predict(experiment, cluster);
  EXPECT_EQ(report.kind, core::ReportKind::predicted);
  EXPECT_TRUE(report.fits);
  EXPECT_EQ(report.identity.version, "0.1.0");
  EXPECT_EQ(report.identity.experiment_hash, experiment.hash());
  EXPECT_EQ(report.identity.profile_hash, cluster.hash);
  EXPECT_THAT(report.identity.program_hashes,
              ElementsAre(models::lower_training(experiment, 0).hash(),
                          models::lower_training(experiment, 1).hash()));
  EXPECT_THAT(report.provenance, IsEmpty());
  EXPECT_EQ(report.world_size, 2);
  EXPECT_EQ(report.global_batch, 8);
  ASSERT_THAT(report.ranks, SizeIs(2));
  EXPECT_THAT(report.counted_work, SizeIs(2));
  EXPECT_EQ(report.counted_work[0].at("all_reduce").calls, 1);
  EXPECT_EQ(report.counted_work[0].count("copy"), 0u);
  EXPECT_EQ(report.reference_rate->gflop_per_s, 50);
  for (const core::RankReport& rank : report.ranks) {
    EXPECT_EQ(rank.device, "cpu");
    EXPECT_EQ(rank.micro_batch, 4);
    EXPECT_THAT(sum_of(rank.phases_us), DoubleNear(report.step_time_us->median, 1e-6));
    EXPECT_THAT(rank.not_counted, ElementsAre("evaluation", "program and library code",
                                              "matrix product packing buffers"));
  }
  EXPECT_GE(*report.first_step_us, report.step_time_us->median);
}

TEST(Predict, headline_figures_follow_from_the_step) {
  models::Experiment experiment = testing::small_experiment(2);
  experiment.training.dataset.samples = 1000;
  const core::Report report = predict(experiment, cluster_for(experiment));
  const double step_s = report.step_time_us->median * 1e-6;
  EXPECT_DOUBLE_EQ(*report.images_per_s, 8 / step_s);
  // 1000 images over 2 ranks are 500 each, in batches of 4: 125 steps.
  EXPECT_DOUBLE_EQ(*report.epoch_time_s, 125 * step_s);
  const auto forward = static_cast<double>(models::forward_flops(experiment.model, 8).value());
  EXPECT_DOUBLE_EQ(*report.model_flop_rate_gflop_per_s, 3 * forward / step_s * 1e-9);
  EXPECT_EQ(report.step_time_us->p10, report.step_time_us->median);
  EXPECT_EQ(report.step_time_us->p90, report.step_time_us->median);
}

TEST(Predict, gradients_on_the_wire_are_four_bytes_a_parameter) {
  const models::Experiment experiment = testing::small_experiment(2);
  const core::Report report = predict(experiment, cluster_for(experiment));
  EXPECT_EQ(report.gradient_bytes_on_wire->value(), 4 * models::parameter_count(experiment.model));
}

TEST(Predict, one_rank_has_no_collectives) {
  const models::Experiment experiment = testing::small_experiment(1);
  const core::Report report = predict(experiment, cluster_for(experiment));
  EXPECT_THAT(report.collectives, IsEmpty());
  EXPECT_EQ(report.gradient_bytes_on_wire->value(), 0);
  EXPECT_EQ(report.ranks[0].phases_us[TimelinePhase::exposed_communication], 0);
}

TEST(Predict, operations_of_one_rank_sum_to_the_step) {
  const models::Experiment experiment = testing::small_experiment(1);
  const core::Report report = predict(experiment, cluster_for(experiment));
  double sum = 0;
  for (const core::OperationReport& operation : report.operations) {
    sum += operation.time_us.median;
    EXPECT_EQ(operation.calls, 1);
  }
  EXPECT_NEAR(sum, report.step_time_us->median, 1e-6);
  EXPECT_EQ(report.operations.front().id, "data.m0.load_batch");
}

// nccl-tests: algbw = bytes / time, busbw = algbw · 2(n−1)/n, with n = 3: 4/3.
TEST(Predict, bus_bandwidth_is_as_nccl_tests_defines_it) {
  models::Experiment experiment = testing::small_experiment(3);
  experiment.parallel.overlap = false;
  const core::Report report = predict(experiment, cluster_for(experiment));
  ASSERT_THAT(report.collectives, SizeIs(1));
  const core::CollectiveReport& collective = report.collectives[0];
  EXPECT_EQ(collective.algorithm, "ring");
  EXPECT_EQ(collective.protocol, "point_to_point");
  EXPECT_EQ(collective.ranks, 3);
  const double algbw =
      static_cast<double>(collective.bytes.value()) / (collective.time_us * 1e-6) / 1e9;
  EXPECT_NEAR(collective.algbw_gb_per_s, algbw, 1e-12);
  EXPECT_NEAR(collective.busbw_gb_per_s, algbw * 4 / 3, 1e-12);
}

TEST(Predict, its_text_reads_back_as_the_same_report) {
  models::Experiment experiment = testing::small_experiment(2);
  experiment.training.micro_batch = {2, 5};
  const core::Report report = predict(experiment, cluster_for(experiment));
  const std::string text = core::report_text(report);
  EXPECT_EQ(core::report_text(core::read_report_text(text, "report")), text);
}

TEST(Predict, what_does_not_fit_has_no_time) {
  models::Experiment experiment = testing::small_experiment(2);
  experiment.training.micro_batch = {64};
  auto cluster = cluster_for(experiment);
  // Room for what 10 images need, on each of two ranks.
  models::Experiment ten = experiment;
  ten.training.micro_batch = {10};
  const core::Bytes need = models::plan_memory(models::lower_training(ten, 0)).arena;
  cluster.cpu_devices.at("cpu").memory_gib =
      2 * static_cast<double>(need.value()) / (1024.0 * 1024.0 * 1024.0);
  const core::Report report = predict(experiment, cluster);
  EXPECT_FALSE(report.fits);
  EXPECT_FALSE(report.step_time_us);
  EXPECT_FALSE(report.images_per_s);
  EXPECT_THAT(report.operations, IsEmpty());
  EXPECT_EQ(report.bottleneck->cause, Cause::memory_capacity);
  EXPECT_THAT(report.bottleneck->sentence,
              ::testing::AllOf(HasSubstr("Does not fit: rank 0 (Device cpu) needs"),
                               HasSubstr("largest micro-batch 10.")));
  EXPECT_GT(report.ranks[0].peak_memory_total, need);
  EXPECT_EQ(core::report_text(core::read_report_text(core::report_text(report), "report")),
            core::report_text(report));
}

TEST(Predict, memory_that_is_exactly_enough_fits) {
  const models::Experiment experiment = testing::small_experiment(1);
  const models::Program program = models::lower_training(experiment, 0);
  const core::Bytes need = models::plan_memory(program).arena;
  EXPECT_TRUE(memory_fit(program, need).fits());
  EXPECT_FALSE(memory_fit(program, need - core::Bytes(1)).fits());
}

TEST(Predict, memory_of_the_host_is_divided_over_its_ranks) {
  hardware_profiles::CpuDevice device;
  device.memory_gib = 1;
  EXPECT_EQ(memory_share(device, 3).value(), 1024 * 1024 * 1024 / 3);
}

// ceil(1000/3) = 334 images a rank, ceil(334/10) = 34 micro-steps, ceil(34/2) = 17 steps.
TEST(Epoch, equal_batches_divide_images_then_batches_then_accumulation) {
  models::Experiment experiment = testing::small_experiment(3);
  experiment.training.micro_batch = {10};
  experiment.training.accumulation_steps = 2;
  EXPECT_EQ(steps_per_epoch(experiment, 1000), 17);
  experiment.training.micro_batch = {10, 10, 10};
  EXPECT_EQ(steps_per_epoch(experiment, 1000), 17);
}

// Global batch (10 + 20 + 30)·2 = 120; ceil(1000/120) = 9.
TEST(Epoch, unequal_batches_divide_by_the_global_batch) {
  models::Experiment experiment = testing::small_experiment(3);
  experiment.training.micro_batch = {10, 20, 30};
  experiment.training.accumulation_steps = 2;
  EXPECT_EQ(steps_per_epoch(experiment, 1000), 9);
}

// Shares 1/2 and 1/4 with residuals 0.1 and 0.2: √(0.05² + 0.05²).
TEST(Interval, classes_are_independent_of_each_other) {
  hardware_profiles::CpuLevel level;
  level.kernels["a"].residual = 0.1;
  level.kernels["b"].residual = 0.2;
  const double sigma = step_sigma({{"a", core::Time::from_ps(50)}, {"b", core::Time::from_ps(25)}},
                                  level, core::Time::from_ps(100));
  EXPECT_NEAR(sigma, std::sqrt(2 * 0.05 * 0.05), 1e-12);
}

// 0.6745 σ holds half of a normal distribution, 1.6449 σ nine tenths.
TEST(Interval, is_lognormal_about_the_prediction) {
  const core::StepTime step = step_with_intervals(core::Time::from_ps(1'000'000), 0.1);
  EXPECT_EQ(step.median, 1.0);
  EXPECT_THAT(*step.interval_50, ElementsAre(DoubleNear(std::exp(-0.06745), 1e-5),
                                             DoubleNear(std::exp(0.06745), 1e-5)));
  EXPECT_THAT(*step.interval_90, ElementsAre(DoubleNear(std::exp(-0.16449), 1e-5),
                                             DoubleNear(std::exp(0.16449), 1e-5)));
}

TEST(Interval, a_step_without_a_fixed_period_is_reported_as_a_mean) {
  SimulationResult result;
  result.steps = 12;
  result.shortest_period = core::Time::from_ps(1'000'000);
  result.longest_period = core::Time::from_ps(3'000'000);
  const core::Assumption assumption = no_fixed_period(result);
  EXPECT_EQ(assumption.key, "steady_state");
  EXPECT_EQ(assumption.value, "mean of 11 steps, which have no fixed period");
  EXPECT_EQ(assumption.step_time_us_low, 1.0);
  EXPECT_EQ(assumption.step_time_us_high, 3.0);
}

constexpr core::Time second = core::Time::from_ps(1'000'000'000'000);

StepLoad two_ranks() {
  StepLoad load{.step = 10 * second,
                .ranks = {},
                .reach = Reach::one_node,
                .gradient_bytes = core::Bytes(346'000'000),
                .interval_90_us = {9e6, 11e6}};
  for (const char* name : {"Fast", "Slow"}) {
    RankLoad rank;
    rank.device_name = name;
    rank.micro_batch = 64;
    load.ranks.push_back(rank);
  }
  return load;
}

TEST(Bottleneck, compute) {
  StepLoad load = two_ranks();
  load.ranks[0].products = 8 * second;
  load.ranks[0].other_kernels = second;
  const core::Bottleneck found = bottleneck_of(load);
  EXPECT_EQ(found.cause, Cause::compute);
  EXPECT_EQ(found.sentence,  // 10 / (10 − 8/2)
            "Fast spends 8.0 s of each 10 s step (80 %) on matrix products and attention; a "
            "processor twice as fast at them would give up to 1.7× (90 % interval of the step: "
            "9.0–11 s).");
}

TEST(Bottleneck, memory_bandwidth) {
  StepLoad load = two_ranks();
  load.ranks[0].other_kernels = 6 * second;
  EXPECT_EQ(bottleneck_of(load).cause, Cause::memory_bandwidth);
  EXPECT_THAT(bottleneck_of(load).sentence, HasSubstr("Fast spends 6.0 s of each 10 s step"));
}

TEST(Bottleneck, data_loading) {
  StepLoad load = two_ranks();
  load.ranks[0].phases[TimelinePhase::data_wait] = 5 * second;
  EXPECT_EQ(bottleneck_of(load).cause, Cause::data_loading);
  EXPECT_THAT(bottleneck_of(load).sentence, HasSubstr("The loader takes 5.0 s of each 10 s step"));
}

TEST(Bottleneck, links_inside_a_node_and_between_nodes) {
  StepLoad load = two_ranks();
  load.ranks[0].phases[TimelinePhase::exposed_communication] = 5 * second;
  EXPECT_EQ(bottleneck_of(load).cause, Cause::intra_node_link);
  load.reach = Reach::several_nodes;
  EXPECT_EQ(bottleneck_of(load).cause, Cause::network);
  EXPECT_THAT(bottleneck_of(load).sentence,
              HasSubstr("The network takes 5.0 s of each 10 s step (50 %) for 346 MB of gradients "
                        "that nothing hides; twice its rate would give up to 1.3×"));
}

// The mean wait is 3 s: divided by speed, 10 s become 7 s.
TEST(Bottleneck, slow_device) {
  StepLoad load = two_ranks();
  load.ranks[0].phases[TimelinePhase::straggler_wait] = 6 * second;
  EXPECT_EQ(bottleneck_of(load).cause, Cause::slow_device);
  EXPECT_THAT(bottleneck_of(load).sentence,
              HasSubstr("Rank 1 (Slow, 64 images) keeps others waiting for 6.0 s of each 10 s step "
                        "(60 %); images divided by speed would give up to 1.4×"));
}

}  // namespace
}  // namespace paceline::sim
