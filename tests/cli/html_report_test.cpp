#include "cli/html_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/json.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/temporary_folder.hpp"

/// Does the page hold what the reports say, and nothing that a report could smuggle in?
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Plotly stand_in{"/* plotly.js v9.8.7 */ const a = '</script><!-- <script>';", "9.8.7",
                      "MIT, in full"};

core::Report report_of(core::ReportKind kind, double factor) {
  core::Report report;
  report.kind = kind;
  report.identity = {"0.1.0", "0123456789abcdef", "fedcba9876543210", {"00000000000000aa"}};
  report.model = "vit_digits";
  report.framework = "paceline";
  report.world_size = 4;
  report.global_batch = 256;
  report.step_time_us = core::StepTime{1000 * factor, 990 * factor, 1020 * factor, {}, {}, {}};
  report.images_per_s = 256000 / factor;
  report.mfu = {{"dense_peak", 0.25}};
  for (int rank = 0; rank < 2; ++rank) {
    core::RankReport& entry = report.ranks.emplace_back();
    entry.rank = rank;
    entry.device = rank == 0 ? "h200" : "t4";
    entry.represents = rank == 0 ? 1 : 3;
    entry.phases_us[core::TimelinePhase::forward] = 400 * factor;
    entry.phases_us[core::TimelinePhase::straggler_wait] = 600 * factor;
    entry.peak_memory[core::MemoryCategory::activations] = core::Bytes(INT64_C(3) << 30);
  }
  report.operations.push_back({.id = "a",
                               .kind = "matmul",
                               .layer = 0,
                               .phase = "forward",
                               .calls = 20,
                               .time_us = {200 * factor, 200 * factor, 200 * factor},
                               .flops = core::Flops(1),
                               .bytes = core::Bytes(1)});
  report.operations.push_back(report.operations.front());
  report.operations.back().id = "b";
  return report;
}

/// What stands between two marks of the page, the first time.
std::string between(const std::string& page, const std::string& from, const std::string& to) {
  const std::size_t start = page.find(from);
  if (start == std::string::npos) return "nowhere";
  const std::size_t first = start + from.size();
  return page.substr(first, page.find(to, first) - first);
}

core::Json charts_of(const std::string& page) {
  return core::Json::parse(between(page, "id=\"charts\">", "</script>"));
}

class HtmlReport : public testing::Test {
 protected:
  std::vector<core::Report> pair_{report_of(core::ReportKind::predicted, 1.0),
                                  report_of(core::ReportKind::measured, 1.25)};
};

TEST_F(HtmlReport, draws_predicted_beside_measured_for_each_rank) {
  const core::Json charts = charts_of(html_report(pair_, stand_in));
  const core::Json& forward = charts[0]["traces"][0];
  EXPECT_EQ(charts[0]["id"], "phases");
  EXPECT_EQ(forward["name"], "forward");
  EXPECT_THAT(forward["y"].get<std::vector<std::string>>(),
              ElementsAre("rank 0 · h200 · predicted", "rank 0 · h200 · measured",
                          "rank 1 · t4 × 3 · predicted", "rank 1 · t4 × 3 · measured"));
  // 400 µs, and 1.25 times as much.
  EXPECT_THAT(forward["x"].get<std::vector<double>>(), ElementsAre(0.4, 0.5, 0.4, 0.5));
  // Phases that are nowhere are not in the legend.
  EXPECT_EQ(charts[0]["traces"].size(), 2U);
  EXPECT_EQ(charts[0]["traces"][1]["name"], "straggler wait");
}

TEST_F(HtmlReport, draws_memory_in_gib_and_kinds_summed_over_operations) {
  const core::Json charts = charts_of(html_report(pair_, stand_in));
  EXPECT_EQ(charts[1]["id"], "memory");
  EXPECT_EQ(charts[1]["traces"][0]["x"][0], 3.0);
  EXPECT_EQ(charts[2]["id"], "kinds");
  EXPECT_EQ(charts[2]["traces"][0]["x"][0], 0.4);  // two operations of 200 µs
  EXPECT_EQ(charts[2]["traces"][1]["x"][0], 0.5);
}

TEST_F(HtmlReport, states_version_inputs_and_the_error) {
  const std::string page = html_report(pair_, stand_in);
  EXPECT_THAT(between(page, "id=\"inputs\">", "</table>"),
              AllOf(HasSubstr("Paceline 0.1.0"), HasSubstr("0123456789abcdef"),
                    HasSubstr("fedcba9876543210"), HasSubstr("00000000000000aa")));
  // 1000 / 1250 − 1.
  EXPECT_THAT(between(page, "id=\"summary\">", "</table>"), HasSubstr("-20.0 %"));
  EXPECT_THAT(page, AllOf(HasSubstr("plotly.js 9.8.7"), HasSubstr("MIT, in full")));
}

TEST_F(HtmlReport, needs_no_network) {
  const std::string page = html_report(pair_, stand_in);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("src=")), Not(HasSubstr("href=")),
                          Not(HasSubstr("@import")), Not(HasSubstr("url("))));
}

TEST_F(HtmlReport, texts_of_reports_stay_texts) {
  pair_[0].model = "<script>alert(1)</script>";
  pair_[0].ranks[0].device = "</script><b>";
  pair_[0].provenance["host"] = "a & \"b\"";
  const std::string page = html_report(pair_, stand_in);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("alert(1)</script>")), Not(HasSubstr("</script><b>")),
                          HasSubstr("&lt;script&gt;alert(1)"), HasSubstr("a &amp; &quot;b&quot;")));
  EXPECT_EQ(charts_of(page)[0]["traces"][0]["y"][0], "rank 0 · </script><b> · predicted");
  // The library's own text cannot end its element or hide its end either.
  EXPECT_THAT(page, HasSubstr("const a = '<\\/script><\\!-- <script>';</script>"));
}

TEST_F(HtmlReport, repeats_are_numbered_and_many_ranks_cut) {
  pair_.push_back(pair_[1]);
  EXPECT_THAT(html_report(pair_, stand_in),
              AllOf(HasSubstr("measured 1"), HasSubstr("measured 2")));
  pair_.resize(1);
  pair_[0].ranks.resize(100, pair_[0].ranks[0]);
  const std::string page = html_report(pair_, stand_in);
  EXPECT_THAT(page, HasSubstr("The first 32 of 100 ranks are drawn."));
  EXPECT_EQ(charts_of(page)[0]["traces"][0]["y"].size(), 32U);
}

TEST_F(HtmlReport, a_run_that_does_not_fit_shows_its_memory_alone) {
  pair_.resize(1);
  pair_[0].fits = false;
  pair_[0].step_time_us.reset();
  const std::string page = html_report(pair_, stand_in);
  EXPECT_EQ(charts_of(page)[0]["id"], "memory");
  EXPECT_THAT(page, Not(HasSubstr("One step, rank by rank")));
}

TEST_F(HtmlReport, no_report_is_refused) {
  EXPECT_EQ(test::message_of<core::UsageError>(
                [] { return html_report(std::span<const core::Report>(), stand_in); }),
            "an HTML report needs a report (give one or more)");
}

/// The environment of this process is the test's own: one test runs in it.
TEST(FindPlotly, takes_the_file_that_the_user_names_with_version_and_licence) {
  const test::TemporaryFolder folder;
  core::write_file_atomically(folder / "p.js", "/**\n* plotly.js v3.1.0-rc.2\n* MIT\n*/ code");
  core::write_file_atomically(folder / "LICENSE", "all of it");
  ::setenv("PACELINE_PLOTLY_JS", (folder / "p.js").c_str(), 1);
  const Plotly plotly = find_plotly();
  EXPECT_EQ(plotly.version, "3.1.0-rc.2");
  EXPECT_EQ(plotly.licence, "all of it");
  EXPECT_THAT(plotly.script, HasSubstr("code"));
  ::unsetenv("PACELINE_PLOTLY_JS");
}

TEST(FindPlotly, says_where_it_looked_and_what_to_install) {
  const test::TemporaryFolder folder;
  ::setenv("PACELINE_PLOTLY_JS", (folder / "nothing.js").c_str(), 1);
  ::setenv("XDG_DATA_HOME", folder.path().c_str(), 1);
  const auto places = plotly_places();
  ASSERT_GE(places.size(), 2U);
  EXPECT_EQ(places[0], folder / "nothing.js");
  EXPECT_EQ(places[1], folder / "paceline/plotly/plotly.min.js");
  if (std::none_of(places.begin(), places.end(),
                   [](const auto& path) { return std::filesystem::exists(path); })) {
    EXPECT_THAT(test::message_of<core::UsageError>([] { return find_plotly(); }),
                AllOf(HasSubstr("an HTML report needs plotly.js, which is not installed (run "
                                "scripts/install.sh html, or name a plotly.min.js in "
                                "PACELINE_PLOTLY_JS). Searched:"),
                      HasSubstr("/nothing.js")));
  }
  ::unsetenv("PACELINE_PLOTLY_JS");
  ::unsetenv("XDG_DATA_HOME");
}

}  // namespace
}  // namespace paceline::cli
