#include "validate/run_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_made_reports.hpp"
#include "run_set_folder.hpp"

namespace paceline::validate {
namespace {

using core::Report;
using testing::ElementsAre;
using testing::IsEmpty;

Report measured_on_a_host_slower_by(double factor) {
  Report report = hand_made_measurement();
  slow_down(report, factor);
  return report;
}

TEST(RunSet, takes_the_median_of_identical_repeats) {
  // Steps 125, 150, 137.5: the median is 137.5, the raw error 100/137.5 − 1 = −3/11, the spread
  // 150/125 − 1 = 0.2. The host was slower each time by as much, so normalised all are 112.5:
  // error −1/9, spread 0.
  RunSetFolder folder;
  folder.add("a.predicted.json", hand_made_prediction());
  folder.add("a.measured.1.json", measured_on_a_host_slower_by(1.0));
  folder.add("a.measured.2.json", measured_on_a_host_slower_by(1.2));
  folder.add("a.measured.3.json", measured_on_a_host_slower_by(1.1));
  const RunSet set = read_run_set(folder.path());
  ASSERT_EQ(set.rows.size(), 1U);
  const RunSetRow& row = set.rows.front();
  EXPECT_EQ(row.name, "a");
  EXPECT_EQ(row.prediction, "");
  EXPECT_EQ(row.model, "vit_digits");
  EXPECT_EQ(row.world_size, 2);
  EXPECT_EQ(row.repeats, 3U);
  EXPECT_TRUE(row.has_reference_rates);
  EXPECT_NEAR(row.step.raw_error(), -3.0 / 11.0, 1e-12);
  EXPECT_NEAR(row.step.normalised_error(), -1.0 / 9.0, 1e-12);
  EXPECT_NEAR(row.spread.raw, 0.2, 1e-12);
  EXPECT_NEAR(row.spread.normalised, 0.0, 1e-12);
  EXPECT_EQ(row.step_flops, 1600.0);  // two ranks of 800
  ASSERT_TRUE(row.inside_interval_90.has_value());
  EXPECT_TRUE(*row.inside_interval_90);  // 112.5 in [90, 115]
}

TEST(RunSet, one_run_has_no_spread_and_no_trivial_predictor) {
  RunSetFolder folder;
  folder.add("a.predicted.json", hand_made_prediction());
  folder.add("a.measured.1.json", hand_made_measurement());
  const RunSet set = read_run_set(folder.path());
  EXPECT_EQ(set.rows.front().spread.raw, 0.0);
  ASSERT_EQ(set.summaries.size(), 1U);
  EXPECT_EQ(set.summaries.front().predictor, "paceline");
  EXPECT_NEAR(set.summaries.front().median_raw, 0.2, 1e-12);
  EXPECT_NEAR(set.summaries.front().worst_normalised, 1.0 / 9.0, 1e-12);
}

TEST(RunSet, keeps_several_predictions_of_one_configuration_apart) {
  RunSetFolder folder;
  Report other = hand_made_prediction();
  slow_down(other, 1.125);  // the reference rate falls to 35.6: 125 · 36/35.6 = 126.6 normalised
  folder.add("a.predicted.json", hand_made_prediction());
  folder.add("a.predicted_later.json", other);
  folder.add("a.measured.1.json", hand_made_measurement());
  const RunSet set = read_run_set(folder.path());
  ASSERT_EQ(set.rows.size(), 2U);
  EXPECT_EQ(set.rows[0].prediction, "");
  EXPECT_EQ(set.rows[1].prediction, "_later");
  EXPECT_NEAR(set.rows[1].step.raw_error(), -0.1, 1e-12);  // 112.5/125 − 1
  ASSERT_EQ(set.summaries.size(), 2U);
  EXPECT_EQ(set.summaries[1].prediction, "_later");
}

TEST(RunSet, lists_files_without_a_partner) {
  RunSetFolder folder;
  folder.add("a.predicted.json", hand_made_prediction());
  folder.add("a.measured.1.json", hand_made_measurement());
  folder.add("b.predicted.json", hand_made_prediction());
  folder.add("c.measured.7.json", hand_made_measurement());
  const RunSet set = read_run_set(folder.path());
  EXPECT_EQ(set.rows.size(), 1U);
  EXPECT_THAT(set.unpaired, ElementsAre((folder.path() / "b.predicted.json").string(),
                                        (folder.path() / "c.measured.7.json").string()));
}

/// FLOPs 100, 200, 300 in 10 µs each on 1, 2, 3 ranks; predicted 9, 10, 12.
std::vector<RunSetRow> three_rows() {
  std::vector<RunSetRow> rows(3);
  const std::vector<double> predicted{9.0, 10.0, 12.0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].world_size = static_cast<std::int64_t>(i) + 1;
    rows[i].step_flops = 100.0 * static_cast<double>(i + 1);
    rows[i].step = {"step", predicted[i], 10.0, 10.0};
  }
  return rows;
}

TEST(Summaries, are_median_and_worst_absolute_error) {
  const ErrorSummary paceline = summarise(three_rows()).front();
  EXPECT_EQ(paceline.rows, 3U);
  EXPECT_NEAR(paceline.median_raw, 0.1, 1e-12);  // of 0.1, 0, 0.2
  EXPECT_NEAR(paceline.worst_raw, 0.2, 1e-12);
}

TEST(Summaries, a_trivial_predictor_has_not_seen_the_row_that_it_predicts) {
  // Rates 10, 20, 30. Row 1: 100/25 = 4 against 10, error 0.6. Row 2: 200/20 = 10, error 0. Row 3:
  // 300/15 = 20, error 1.
  const std::vector<ErrorSummary> summaries = summarise(three_rows());
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[1].predictor, "flops");
  EXPECT_NEAR(summaries[1].median_raw, 0.6, 1e-12);
  EXPECT_NEAR(summaries[1].worst_raw, 1.0, 1e-12);
  // By rank each row is 100 FLOPs in 10 µs: no error.
  EXPECT_EQ(summaries[2].predictor, "flops_per_rank");
  EXPECT_NEAR(summaries[2].worst_raw, 0.0, 1e-12);
}

TEST(Summaries, normalised_trivial_times_are_counted_in_reference_products) {
  // Predictions at different reference rates: 10 µs at rate 1 and 5 µs at rate 2 are as many
  // reference products, so the normalised errors are those of the test above.
  std::vector<RunSetRow> rows = three_rows();
  rows[1].step.normalised_us = 5.0;
  rows[1].reference_gflop_per_s = 2.0;
  const std::vector<ErrorSummary> summaries = summarise(rows);
  EXPECT_NEAR(summaries[1].median_normalised, 0.6, 1e-12);
  EXPECT_NEAR(summaries[1].worst_normalised, 1.0, 1e-12);
}

TEST(Summaries, rows_without_counted_work_get_no_trivial_predictor) {
  std::vector<RunSetRow> rows = three_rows();
  rows[2].step_flops = 0.0;
  EXPECT_EQ(summarise(rows).size(), 1U);
}

TEST(MedianOf, joins_every_list_by_name) {
  const Report predicted = hand_made_prediction();
  std::vector<Comparison> repeats;
  for (const double factor : {1.0, 1.4, 1.2}) {
    repeats.push_back(compare(predicted, measured_on_a_host_slower_by(factor), "p", "m"));
  }
  const Comparison middle = median_of(repeats);
  EXPECT_DOUBLE_EQ(middle.kinds.front().measured_us, 120.0);  // 100 · 1.2
  EXPECT_NEAR(middle.kinds.front().normalised_us, 90.0, 1e-9);
  EXPECT_DOUBLE_EQ(middle.operations.front().measured_us, 30.0);   // 25 · 1.2
  EXPECT_DOUBLE_EQ(middle.collectives.front().measured_us, 24.0);  // 20 · 1.2
  EXPECT_THAT(middle.only_in_one, IsEmpty());
}

}  // namespace
}  // namespace paceline::validate
