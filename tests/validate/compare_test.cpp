#include "validate/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hand_made_reports.hpp"

namespace paceline::validate {
namespace {

using core::Report;
using testing::ElementsAre;
using testing::IsEmpty;

Comparison compare_hand_made(const Report& predicted = hand_made_prediction(),
                             const Report& measured = hand_made_measurement()) {
  return compare(predicted, measured, "predicted.json", "measured.json");
}

const Difference& find(const std::vector<Difference>& list, const std::string& what) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Difference& one) { return one.what == what; });
  if (found == list.end()) throw std::out_of_range(what);
  return *found;
}

TEST(Compare, raw_error_is_predicted_over_measured_minus_one) {
  const Difference step = compare_hand_made().step;
  EXPECT_DOUBLE_EQ(step.predicted_us, 100.0);
  EXPECT_DOUBLE_EQ(step.measured_us, 125.0);
  EXPECT_NEAR(step.raw_error(), -0.2, 1e-12);  // 100/125 − 1
}

TEST(Compare, normalised_error_asks_what_the_prediction_s_host_would_have_measured) {
  // While measuring the reference product ran at 36 instead of 40 GFLOP/s, so the step would have
  // taken 125 · 36/40 = 112.5 at the prediction's rate: 100/112.5 − 1 = −1/9.
  const Difference step = compare_hand_made().step;
  EXPECT_DOUBLE_EQ(step.normalised_us, 112.5);
  EXPECT_NEAR(step.normalised_error(), -1.0 / 9.0, 1e-12);
}

TEST(Compare, a_slower_host_changes_the_raw_error_only) {
  Report slower = hand_made_measurement();
  slow_down(slower, 1.5);
  const Difference step = compare_hand_made(hand_made_prediction(), slower).step;
  EXPECT_NEAR(step.raw_error(), 100.0 / 187.5 - 1.0, 1e-12);
  EXPECT_NEAR(step.normalised_error(), -1.0 / 9.0, 1e-12);
}

TEST(Compare, without_a_reference_rate_on_both_sides_normalised_is_raw) {
  Report measured = hand_made_measurement();
  measured.reference_rate.reset();
  const Difference step = compare_hand_made(hand_made_prediction(), measured).step;
  EXPECT_EQ(step.normalised_us, step.measured_us);
}

TEST(Compare, phases_are_means_over_ranks_weighted_by_whom_they_stand_for) {
  Report measured = hand_made_measurement();
  measured.world_size = 4;
  measured.ranks[0].represents = 3;
  // Rank 0 stands for three ranks with 40 forward; rank 1 has 44, and 4 less backward: (3·40 +
  // 44)/4 = 41 and (3·60 + 56)/4 = 59.
  measured.ranks[1].phases_us[core::TimelinePhase::forward] = 44;
  measured.ranks[1].phases_us[core::TimelinePhase::backward] = 56;
  Report predicted = hand_made_prediction();
  predicted.world_size = 4;
  for (auto& rank : predicted.ranks) rank.represents = 2;
  const Comparison comparison = compare_hand_made(predicted, measured);
  EXPECT_DOUBLE_EQ(find(comparison.phases, "forward").predicted_us, 30.0);
  EXPECT_DOUBLE_EQ(find(comparison.phases, "forward").measured_us, 41.0);
  EXPECT_DOUBLE_EQ(find(comparison.phases, "backward").measured_us, 59.0);
  EXPECT_DOUBLE_EQ(find(comparison.phases, "exposed_communication").measured_us, 20.0);
}

TEST(Compare, kinds_are_sums_over_their_operations) {
  const Comparison comparison = compare_hand_made();
  ASSERT_EQ(comparison.kinds.size(), 2U);
  const Difference& matmul = find(comparison.kinds, "matmul");
  EXPECT_DOUBLE_EQ(matmul.predicted_us, 80.0);   // 20 + 10 + 50
  EXPECT_DOUBLE_EQ(matmul.measured_us, 100.0);   // 25 + 15 + 60
  EXPECT_DOUBLE_EQ(matmul.normalised_us, 90.0);  // · 36/40
  EXPECT_NEAR(matmul.raw_error(), -0.2, 1e-12);
  EXPECT_DOUBLE_EQ(find(comparison.kinds, "adamw").raw_error(), 0.0);
}

TEST(Compare, classes_partition_the_step_of_rank_0) {
  Report predicted = hand_made_prediction();
  predicted.operations[1].kind = "gelu";       // 10
  predicted.operations[0].kind = "attention";  // 20
  core::OperationReport norm = predicted.operations[0];
  norm.id = "norm";
  norm.kind = "layer_norm_gradient";
  norm.time_us.median = 4;
  predicted.operations.push_back(norm);
  core::OperationReport counted_elsewhere = norm;
  counted_elsewhere.id = "bucket0";
  counted_elsewhere.phase = "communication";
  predicted.operations.push_back(counted_elsewhere);
  // 3 of the exposed communication were waiting for a straggler; what is left of the step of 100
  // after 50 + 20 + 4 + 10 + 5 + 12 + 3 is −4: the four of the norm came out of no phase.
  for (core::RankReport& rank : predicted.ranks) {
    rank.phases_us[core::TimelinePhase::exposed_communication] = 12;
    rank.phases_us[core::TimelinePhase::straggler_wait] = 3;
  }
  const Comparison comparison = compare_hand_made(predicted, hand_made_measurement());
  std::vector<std::string> names;
  std::vector<double> times;
  double sum = 0;
  for (const Difference& one : comparison.classes) {
    names.push_back(one.what);
    times.push_back(one.predicted_us);
    sum += one.predicted_us;
  }
  EXPECT_EQ(names, operation_classes());
  EXPECT_THAT(times, ElementsAre(50, 20, 4, 10, 5, -4, 12, 3));
  EXPECT_DOUBLE_EQ(sum, 100);
  EXPECT_DOUBLE_EQ(find(comparison.classes, "products").measured_us, 100.0);
  EXPECT_DOUBLE_EQ(find(comparison.classes, "host").measured_us, 0.0);
  EXPECT_DOUBLE_EQ(find(comparison.classes, "collectives").normalised_us, 18.0);  // 20 · 36/40
}

TEST(CompareAlike, takes_different_experiments_and_names_the_files) {
  Report other = hand_made_prediction();
  other.identity.experiment_hash = "another";
  other.operations[1].id = "fc3";
  const Comparison comparison =
      compare_alike(other, hand_made_prediction(), "other.json", "first.json");
  EXPECT_DOUBLE_EQ(comparison.step.raw_error(), 0.0);
  EXPECT_THAT(comparison.only_in_one, ElementsAre("operation fc3 (only in other.json)",
                                                  "operation fc2 (only in first.json)"));
  EXPECT_FALSE(same_experiment(other, hand_made_prediction()));
  EXPECT_TRUE(same_experiment(hand_made_measurement(), hand_made_prediction()));
}

TEST(Compare, operations_and_collectives_join_by_id_in_the_prediction_s_order) {
  Report measured = hand_made_measurement();
  std::reverse(measured.operations.begin(), measured.operations.end());
  const Comparison comparison = compare_hand_made(hand_made_prediction(), measured);
  ASSERT_EQ(comparison.operations.size(), 4U);
  EXPECT_EQ(comparison.operations[0].what, "fc1");
  EXPECT_NEAR(comparison.operations[0].raw_error(), -0.2, 1e-12);        // 20/25 − 1
  EXPECT_NEAR(comparison.operations[1].raw_error(), -1.0 / 3.0, 1e-12);  // 10/15 − 1
  ASSERT_EQ(comparison.collectives.size(), 1U);
  EXPECT_NEAR(comparison.collectives[0].raw_error(), -0.25, 1e-12);  // 15/20 − 1
  EXPECT_THAT(comparison.only_in_one, IsEmpty());
}

TEST(Compare, says_what_only_one_side_has) {
  Report measured = hand_made_measurement();
  measured.operations[1].id = "fc3";
  measured.collectives.clear();
  const Comparison comparison = compare_hand_made(hand_made_prediction(), measured);
  EXPECT_THAT(comparison.only_in_one,
              ElementsAre("operation fc2 (only predicted)", "operation fc3 (only measured)",
                          "collective bucket0 (only predicted)"));
}

TEST(Compare, time_that_nobody_measured_is_an_infinite_error_and_zero_of_zero_none) {
  EXPECT_EQ((Difference{"", 1.0, 0.0, 0.0}).raw_error(), std::numeric_limits<double>::infinity());
  EXPECT_EQ((Difference{"", 0.0, 0.0, 0.0}).raw_error(), 0.0);
}

TEST(FaultsOf, hand_made_reports_have_none) {
  EXPECT_THAT(faults_of(hand_made_prediction()), IsEmpty());
  EXPECT_THAT(faults_of(hand_made_measurement()), IsEmpty());
}

TEST(FaultsOf, measured_phases_may_miss_one_percent) {
  // 1 % of 125 is 1.25.
  Report measured = hand_made_measurement();
  measured.ranks[1].phases_us[core::TimelinePhase::other] = 1.25;
  EXPECT_THAT(faults_of(measured), IsEmpty());
  measured.ranks[1].phases_us[core::TimelinePhase::other] = 1.26;
  EXPECT_THAT(faults_of(measured),
              ElementsAre("phases of rank 1 sum to 126.26 us (must be the step "
                          "of 125.0 us within 1 %)"));
}

TEST(FaultsOf, predicted_phases_may_miss_a_picosecond_for_each_of_ten_phases) {
  Report predicted = hand_made_prediction();
  predicted.ranks[0].phases_us[core::TimelinePhase::other] = 9e-6;
  EXPECT_THAT(faults_of(predicted), IsEmpty());
  predicted.ranks[0].phases_us[core::TimelinePhase::other] = 0.5;
  EXPECT_THAT(faults_of(predicted),
              ElementsAre("phases of rank 0 sum to 100.5 us (must be the step "
                          "of 100.0 us within 1 ps a phase)"));
}

TEST(FaultsOf, ranks_must_add_up_to_the_world) {
  Report measured = hand_made_measurement();
  measured.ranks[0].represents = 4;
  EXPECT_THAT(faults_of(measured),
              ElementsAre("ranks stand for 5 ranks (must be the 2 of world_size)"));
}

TEST(FaultsOf, ranks_that_counted_other_work_disagree) {
  Report measured = hand_made_measurement();
  measured.counted_work[0]["all_reduce"].calls = 3;
  measured.counted_work[1]["all_reduce"].calls = 2;
  measured.counted_work[1]["matmul"].flops = core::Flops(700);
  EXPECT_THAT(faults_of(measured),
              ElementsAre("rank 1 counted 2 all-reduces, rank 0 3 (must be the same)",
                          "rank 1 counted 700 FLOPs with the same micro-batch, rank 0 800 (must be "
                          "the same)"));
  // With another micro-batch other FLOPs are right: 8 + 4 = 12 images.
  measured.counted_work[1]["all_reduce"].calls = 3;
  measured.ranks[1].micro_batch = 4;
  measured.global_batch = 12;
  EXPECT_THAT(faults_of(measured), IsEmpty());
}

TEST(FaultsOf, a_rank_stands_once) {
  Report measured = hand_made_measurement();
  measured.ranks[1].rank = 0;
  EXPECT_THAT(faults_of(measured), ElementsAre("rank 0 stands there twice (each may stand once)"));
}

TEST(FaultsOf, one_rank_alone_has_no_bandwidth) {
  Report measured = hand_made_measurement();
  measured.collectives[0].ranks = 1;
  EXPECT_THAT(
      faults_of(measured),
      ElementsAre("collective bucket0 has a bandwidth measured by one rank alone (must be 2 "
                  "ranks or more)"));
  measured.collectives[0].algbw_gb_per_s = 0.0;
  measured.collectives[0].busbw_gb_per_s = 0.0;
  EXPECT_THAT(faults_of(measured), IsEmpty());
}

TEST(FaultsOf, each_operation_and_collective_stands_once) {
  Report measured = hand_made_measurement();
  measured.operations[1].id = "fc1";
  measured.collectives.push_back(measured.collectives[0]);
  EXPECT_THAT(faults_of(measured),
              ElementsAre("collective bucket0 stands there twice (each may stand once)",
                          "operation fc1 stands there twice (each may stand once)"));
}

TEST(FaultsOf, a_prediction_that_does_not_fit_has_no_step_to_sum_to) {
  Report predicted = hand_made_prediction();
  predicted.fits = false;
  predicted.step_time_us.reset();
  EXPECT_THAT(faults_of(predicted), IsEmpty());
}

}  // namespace
}  // namespace paceline::validate
