#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/display_text.hpp"
#include "cli/render_comparison.hpp"
#include "cli/render_fit.hpp"
#include "cli/render_prediction.hpp"
#include "cli/render_run_set.hpp"
#include "hand_made_reports.hpp"

namespace paceline::cli {
namespace {

using core::Report;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using validate::hand_made_measurement;
using validate::hand_made_prediction;

int widest_line(const std::string& text) {
  std::istringstream lines(text);
  int widest = 0;
  for (std::string line; std::getline(lines, line);) {
    widest = std::max(widest, display_width(line));
  }
  return widest;
}

/// A console of that width that nobody looks at.
struct Screen {
  std::ostringstream out;
  std::ostringstream err;
  Console console;
  explicit Screen(int width) : console{.out = out, .err = err, .width = width} {}
};

std::string predicted_at(int width, const Report& report, Detail detail = Detail::full) {
  const Screen screen(width);
  return prediction_screen(report, "two cores", {}, detail, screen.console);
}

/// A prediction with long names and many ranks: the widest that a screen meets.
Report wide_prediction() {
  Report report = hand_made_prediction();
  report.ranks.front().represents = 31;
  report.world_size = 32;
  for (auto& rank : report.ranks) rank.device = "a_device_with_quite_a_long_identifier";
  for (auto& operation : report.operations) {
    operation.id = "backward.m0.blocks.11.mlp.fc2.weight_gradient." + operation.id;
  }
  report.collectives.front().id = "communication.bucket0.all_reduce.with_a_long_name";
  report.assumptions.push_back(
      {"data_path.workers_per_rank", "4", "a typical desktop machine", 90.0, 140.0});
  return report;
}

TEST(PredictionScreen, starts_with_the_verdict) {
  // 16 images in 100 µs are 160000 a second.
  EXPECT_EQ(predicted_at(100, hand_made_prediction(), Detail::quiet),
            "vit_digits on two cores: 2 ranks × 8 images = 16 images a step, paceline.\n"
            "Step 100 µs (90 % interval 90.0 µs to 115 µs), 160000 images/s.\n"
            "The CPU computes 85 % of the step.\n");
}

TEST(PredictionScreen, alike_ranks_share_a_bar_in_proportion) {
  // Taken: 2 + "ranks 0–1" 9 + 2 + "cpu_rank" 8 + 2 + "8 images" 8 + 2 + 12 = 45, so 35 cells of
  // 80: forward 30 % = 10.5, backward 50 % = 17.5, communication 15 % = 5.25, optimizer 5 % = 1.75.
  // Rounded down 10 + 17 + 5 + 1 = 33; two more to the largest rests: optimizer, then forward.
  EXPECT_THAT(predicted_at(80, hand_made_prediction(), Detail::brief),
              HasSubstr("  ranks 0–1  cpu_rank  8 images  "
                        "▒▒▒▒▒▒▒▒▒▒▒█████████████████░░░░░▓▓  waits  0 %\n"));
}

TEST(PredictionScreen, unlike_ranks_have_a_bar_each) {
  Report report = hand_made_prediction();
  report.ranks[1].micro_batch = 4;
  const std::string screen = predicted_at(100, report);
  EXPECT_THAT(screen, AllOf(HasSubstr("2 ranks with 8 + 4 images"), HasSubstr("  rank 0  "),
                            HasSubstr("  rank 1  ")));
}

TEST(PredictionScreen, lists_phases_memory_collectives_and_operations) {
  EXPECT_THAT(predicted_at(100, hand_made_prediction()),
              AllOf(HasSubstr("exposed communication     15.0      15.0     15.0       15.0"),
                    HasSubstr("step                     100.0                         100.0"),
                    HasSubstr("ranks 0–1                cpu_rank   3.00         3.00"),
                    HasSubstr("bucket0"), HasSubstr("longest operations"),
                    // fc1_gradient: 500 FLOPs in 50 µs are 0.01 GFLOP/s; 1000 bytes 0.02 GB/s.
                    HasSubstr("fc1_gradient        50.00       50.0   0.0100  0.0200")));
}

TEST(PredictionScreen, what_does_not_fit_has_no_time) {
  Report report = hand_made_prediction();
  report.fits = false;
  report.step_time_us.reset();
  report.images_per_s.reset();
  report.bottleneck = core::Bottleneck{core::Cause::memory_capacity, "Rank 1 needs 13.1 GiB."};
  const std::string screen = predicted_at(100, report);
  EXPECT_THAT(screen, AllOf(HasSubstr("Does not fit.\nRank 1 needs 13.1 GiB.\n"),
                            Not(HasSubstr("One step")), Not(HasSubstr("longest operations")),
                            HasSubstr("memory at the peak")));
}

TEST(PredictionScreen, the_fullest_node_stands_below_the_memory) {
  const Screen screen(100);
  const NodeMemory node{.node = 1, .ranks = 2, .used = core::Bytes(6 << 20), .available_gib = 8.0};
  EXPECT_THAT(
      prediction_screen(hand_made_prediction(), "two cores", node, Detail::full, screen.console),
      HasSubstr("  Node 1: 6.00 MiB of 8.00 GiB for 2 ranks.\n"));
}

TEST(PredictionScreen, says_who_vouches_for_it) {
  Report report = hand_made_prediction();
  EXPECT_THAT(predicted_at(100, report), HasSubstr("Trust: no set of measured runs"));
  report.track_record = core::TrackRecord{"cpu ranks", 34, 0.09, 0.21};
  EXPECT_THAT(predicted_at(100, report),
              HasSubstr("Trust: 34 runs of this kind (cpu ranks) were checked: off by 9.0 % in the "
                        "median, 21.0 % at worst.\n"));
}

TEST(PredictionScreen, fits_80_and_100_columns) {
  for (const int width : {80, 100}) {
    EXPECT_LE(widest_line(predicted_at(width, hand_made_prediction())), width);
    EXPECT_LE(widest_line(predicted_at(width, wide_prediction())), width);
  }
}

ComparedReports compared_hand_made() {
  ComparedReports compared;
  compared.predicted_name = "p.json";
  compared.predicted = hand_made_prediction();
  compared.measured_names = {"m.json"};
  compared.comparison =
      validate::compare(compared.predicted, hand_made_measurement(), "p.json", "m.json");
  compared.is_normalised = true;
  return compared;
}

TEST(ComparisonScreen, shows_raw_and_normalised_errors) {
  // Step: 100 against 125 is −20 %; against 125 · 36/40 = 112.5 it is −11.1 %.
  EXPECT_THAT(comparison_screen(compared_hand_made(), 100),
              AllOf(HasSubstr("the prediction's 40.0 GFLOP/s;\nit ran at 36.0."),
                    HasSubstr("step                          100.0        125.0  −20.0 %     112.5"
                              "      −11.1 %")));
}

TEST(ComparisonScreen, the_waterfall_adds_up_to_the_step) {
  // Products: 80 − 100 · 0.9 = −10; optimizer: 5 − 4.5 = +0.5; collectives: 15 − 18 = −3; together
  // the step's 100 − 112.5 = −12.5: of the step of 112.5 µs −8.9, +0.4, −2.7 and −11.1 %.
  EXPECT_THAT(
      comparison_screen(compared_hand_made(), 100),
      AllOf(HasSubstr("products                    80.0           90.0      −10.0     −8.9 %  "
                      "▒▒▒▒▒▒▒▒▒▒▒▒▒▒\n"),
            HasSubstr("+0.5     +0.4 %  █\n"), HasSubstr("−3.0     −2.7 %  ▒▒▒▒\n"),
            HasSubstr("−12.5    −11.1 %\n"), Not(HasSubstr("\n  norms "))));
}

TEST(ComparisonScreen, reports_of_one_kind_are_this_and_first) {
  ComparedReports compared = compared_hand_made();
  compared.sides = ComparedReports::Sides::alike;
  compared.is_same_experiment = false;
  EXPECT_THAT(comparison_screen(compared, 100),
              AllOf(HasSubstr("this µs"), HasSubstr("first µs"), Not(HasSubstr("predicted")),
                    HasSubstr("They are of different experiments."),
                    HasSubstr("the first-named report's 40.0\nGFLOP/s")));
}

TEST(ComparisonsScreen, several_start_with_a_table_of_their_steps) {
  const ComparedReports one = compared_hand_made();
  ComparedReports other = one;
  other.predicted_name = "q.json";
  const std::string screen = comparisons_screen({one, other}, 100);
  EXPECT_THAT(screen, testing::StartsWith(
                          "  report  step µs  measured µs    error  norm. error\n"
                          "  p.json    100.0        125.0  −20.0 %      −11.1 %\n"
                          "  q.json    100.0        125.0  −20.0 %      −11.1 %\n"
                          "\nvit_digits, 2 ranks, 16 images a step: p.json against m.json."));
  EXPECT_EQ(comparisons_screen({one}, 100), comparison_screen(one, 100));
}

TEST(ComparisonScreen, without_reference_rates_there_is_no_normalised_column) {
  ComparedReports compared = compared_hand_made();
  compared.is_normalised = false;
  EXPECT_THAT(comparison_screen(compared, 100), Not(HasSubstr("norm.")));
}

TEST(ComparisonScreen, fits_80_and_100_columns) {
  ComparedReports compared = compared_hand_made();
  for (auto& operation : compared.comparison.operations) {
    operation.what = "backward.m0.blocks.11.mlp.fc2.weight_gradient." + operation.what;
  }
  compared.comparison.only_in_one = {"operation x (only predicted)"};
  for (const int width : {80, 100}) {
    EXPECT_LE(widest_line(comparison_screen(compared, width)), width);
  }
}

TEST(RunSetScreen, fits_80_and_100_columns_and_names_trivial_predictors) {
  validate::RunSet set;
  validate::RunSetRow& row = set.rows.emplace_back();
  row.name = "a_configuration_with_a_name_that_says_everything_about_it";
  row.repeats = 5;
  row.step = {"step", 100.0, 125.0, 112.5};
  row.has_reference_rates = true;
  row.inside_interval_90 = true;
  set.rows.push_back(row);
  set.rows.back().name = "b|c";
  for (auto& one : set.rows) one.step_flops = 1e9;
  set.summaries = validate::summarise(set.rows);
  for (const int width : {80, 100}) {
    const std::string screen = run_set_screen(set, width);
    EXPECT_LE(widest_line(screen), width);
    EXPECT_THAT(screen, AllOf(HasSubstr("−20.0 %"), HasSubstr("−11.1 %"), HasSubstr("trivial"),
                              HasSubstr("norm. median  norm. worst"),
                              HasSubstr("2 of 2 medians lie inside")));
  }
  EXPECT_THAT(run_set_markdown(set),
              AllOf(HasSubstr("| Paceline | 2 | 20.0 % | 20.0 % | 11.1 % | 11.1 % |\n"),
                    HasSubstr("| b\\|c | 1 |")));
}

TEST(KernelModelText, says_what_coefficients_mean) {
  hardware_profiles::KernelModel model;
  // 2 FLOPs in 0.05 ns are 40 GFLOP/s.
  model.us_per_feature = {{"call", 1.2}, {"mnk", 5e-5}, {"mn", 0.0}, {"kn", 1e-6}};
  EXPECT_EQ(kernel_model_text("matmul_nt", model),
            "1.20 µs a call, 0.00100 ns per B's element, products at 40.0 GFLOP/s");
  // 0.1 ns a byte are 10 GB/s; beyond 16 MiB 0.15 ns more: 4 GB/s.
  model.us_per_feature = {
      {"call", 0.0}, {"bytes", 1e-4}, {"bytes_beyond_1_mib", 0.0}, {"bytes_beyond_16_mib", 1.5e-4}};
  EXPECT_EQ(kernel_model_text("gelu", model), "bytes at 10.0 GB/s, beyond 16 MiB at 4.00 GB/s");
  // 4 and 8 FLOPs for each product of a score.
  model.us_per_feature = {{"score_products", 1e-4}};
  EXPECT_EQ(kernel_model_text("attention", model), "products at 40.0 GFLOP/s");
  EXPECT_EQ(kernel_model_text("attention_gradient", model), "products at 80.0 GFLOP/s");
  EXPECT_EQ(kernel_model_text("gelu", {}), "nothing");
}

}  // namespace
}  // namespace paceline::cli
