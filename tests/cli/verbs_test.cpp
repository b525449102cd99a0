#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "planted_files.hpp"

/// What each verb does when all is well, through the real program.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

core::Json parsed(const std::string& text) {
  core::Faults faults;
  core::Json json = core::parse_json(text, core::Cursor("text", faults));
  faults.throw_if_any();
  return json;
}

class Verbs : public testing::Test {
 protected:
  static void SetUpTestSuite() { workplace_ = new ExampleWorkplace; }
  static void TearDownTestSuite() {
    delete workplace_;
    workplace_ = nullptr;
  }
  static Ran run(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment = {}) {
    return workplace_->run(words, environment);
  }

  static ExampleWorkplace* workplace_;
};
ExampleWorkplace* Verbs::workplace_ = nullptr;

TEST_F(Verbs, version_and_help_go_to_standard_output) {
  EXPECT_THAT(run({"--version"}).out, StartsWith("paceline "));
  const Ran help = run({"help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("usage: paceline VERB"), HasSubstr("make-profile")));
  EXPECT_EQ(help.err, "");
  EXPECT_EQ(run({"--help"}).out, help.out);
}

TEST_F(Verbs, make_profile_prints_the_fit_and_writes_a_cluster_that_reads) {
  const Ran ran = run({"make-profile", "measurements.json", "--out", "another.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Planted CPU: 1 thread a rank, 8.00 GiB"),
                             HasSubstr("2 ranks at once, reference product 26.7 GFLOP/s each"),
                             HasSubstr("1.00 µs a call, products at 40.0 GFLOP/s"),
                             HasSubstr("Wrote another.json")));
  const Ran check = run({"check", "another.json"});
  EXPECT_EQ(check.code, 0) << check.err;
  EXPECT_EQ(check.out, "ok  another.json  cluster\n");
}

TEST_F(Verbs, make_profile_writes_to_standard_output_alone) {
  EXPECT_EQ(run({"make-profile", "measurements.json", "--out", "-"}).out,
            workplace_->read("this_machine.json"));
}

TEST_F(Verbs, predict_is_the_same_twice) {
  ASSERT_EQ(run({"predict", "experiment.json", "--json", "twice.json"}).code, 0);
  EXPECT_EQ(workplace_->read("twice.json"), workplace_->read("predicted.json"));
  EXPECT_EQ(run({"predict", "experiment.json", "--json", "-"}).out,
            workplace_->read("predicted.json"));
}

TEST_F(Verbs, predict_shows_less_on_request) {
  const std::string full = run({"predict", "experiment.json"}).out;
  const std::string brief = run({"predict", "experiment.json", "--brief"}).out;
  const std::string quiet = run({"predict", "experiment.json", "--quiet"}).out;
  EXPECT_THAT(full, StartsWith(brief));
  EXPECT_THAT(brief, AllOf(StartsWith(quiet), HasSubstr("█"), Not(HasSubstr("longest"))));
  EXPECT_THAT(
      quiet, AllOf(HasSubstr("2 ranks × 8 images = 16 images a step"), Not(HasSubstr("One step"))));
}

TEST_F(Verbs, predict_follows_set) {
  const Ran ran = run({"predict", "experiment.json", "--set", "training.micro_batch=[4, 8]",
                       "--set", "parallel.overlap=false", "--quiet"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("2 ranks with 4 + 8 images = 12 images a step"));
}

TEST_F(Verbs, predict_saves_what_was_given) {
  ASSERT_EQ(
      run({"predict", "experiment.json", "--set", "training.epochs=3", "--save", "s.json"}).code,
      0);
  EXPECT_EQ(run({"check", "s.json"}).out, "ok  s.json  experiment\n");
  const core::Json saved = parsed(workplace_->read("s.json"));
  EXPECT_EQ(saved["training"]["epochs"], 3);
  EXPECT_FALSE(saved["training"].contains("optimizer"));  // a default, which may change
}

TEST_F(Verbs, predict_writes_a_trace) {
  ASSERT_EQ(run({"predict", "experiment.json", "--trace", "t.json"}).code, 0);
  EXPECT_FALSE(parsed(workplace_->read("t.json"))["traceEvents"].empty());
}

TEST_F(Verbs, predict_looks_for_clusters_in_profiles_first) {
  std::filesystem::create_directories(workplace_->path("mine"));
  std::filesystem::copy_file(workplace_->path("this_machine.json"),
                             workplace_->path("mine/my_box.json"),
                             std::filesystem::copy_options::overwrite_existing);
  const Ran ran = run(
      {"predict", "experiment.json", "--set", "cluster=my_box", "--profiles", "mine", "--quiet"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(Verbs, screens_are_ascii_where_the_locale_is_not_utf8) {
  const Ran ran = run({"predict", "experiment.json"}, {{"LC_ALL", "C"}});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2 ranks x 8 images"), HasSubstr("---###")));
  EXPECT_TRUE(std::all_of(ran.out.begin(), ran.out.end(), [](char c) { return c >= 0; }));
}

TEST_F(Verbs, screens_have_no_colour_when_nobody_looks) {
  EXPECT_THAT(run({"predict", "experiment.json"}).out, Not(HasSubstr("\x1b")));
}

// measured.json is 1.25 times as long on a host that is 1.1 times as slow: raw 1/1.25 − 1 = −20 %,
// normalised 1.1/1.25 − 1 = −12 %.
TEST_F(Verbs, compare_prints_raw_and_normalised_errors) {
  const Ran ran = run({"compare", "predicted.json", "measured.json", "--json", "c.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("−20.0 %"), HasSubstr("−12.0 %"),
                             HasSubstr("Where the difference comes from"),
                             HasSubstr("operations furthest off")));
  const core::Json json = parsed(workplace_->read("c.json"));
  EXPECT_EQ(json["schema"], "paceline/comparison/1");
  EXPECT_NEAR(json["step"]["raw_error"].get<double>(), -0.2, 1e-9);
  EXPECT_NEAR(json["step_error"].get<double>(), -0.12, 1e-9);
}

TEST_F(Verbs, compare_takes_reports_in_any_order) {
  EXPECT_EQ(run({"compare", "measured.json", "predicted.json"}).out,
            run({"compare", "predicted.json", "measured.json"}).out);
}

TEST_F(Verbs, compare_fails_beyond_the_tolerance_of_the_normalised_error) {
  EXPECT_EQ(run({"compare", "predicted.json", "measured.json", "--tolerance", "0.125"}).code, 0);
  const Ran ran = run({"compare", "predicted.json", "measured.json", "--tolerance", "0.115"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "the step is off by −12.0 % normalised (tolerance 11.5 %)\n");
}

TEST_F(Verbs, compare_takes_the_median_of_several_measured_reports) {
  // 1.1 and 1.2 times as long: the median is 1.15, normalised 1.1/1.15 − 1 = −4.3 %; they differ by
  // 1.2/1.1 − 1 = 9.1 %.
  const Ran ran = run({"compare", "predicted.json", "measured.1.json", "measured.2.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("−4.3 %"), HasSubstr("differ by 9.1 %")));
}

TEST_F(Verbs, compare_takes_reports_of_one_kind_and_puts_the_first_below_the_line) {
  // 1.2 against 1.1 times the prediction on hosts that are alike: 1.2/1.1 − 1 = +9.1 %.
  const Ran measured = run({"compare", "measured.1.json", "measured.2.json"});
  EXPECT_EQ(measured.code, 0) << measured.err;
  EXPECT_THAT(measured.out, AllOf(HasSubstr("measured.2.json against measured.1.json."),
                                  HasSubstr("this ms"), HasSubstr("first ms"), HasSubstr("+9.1 %"),
                                  Not(HasSubstr("different experiments"))));
  const Ran predicted = run({"compare", "predicted.json", "predicted.json", "--tolerance", "0"});
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_THAT(predicted.out, HasSubstr("0.0 %"));
}

TEST_F(Verbs, compare_takes_predictions_of_different_experiments) {
  const Ran made =
      run({"predict", "experiment.json", "--set", "training.micro_batch=4", "--json", "half.json"});
  ASSERT_EQ(made.code, 0) << made.err;
  const Ran ran = run({"compare", "predicted.json", "half.json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("half.json against predicted.json. They are of different"),
                             HasSubstr("Where the difference comes from")));
}

TEST_F(Verbs, compare_of_many_starts_with_a_line_each_and_fails_for_each) {
  const Ran ran = run({"compare", "measured.1.json", "measured.2.json", "measured.json",
                       "--tolerance", "0.1", "--json", "many.json"});
  // 1.25/1.1 − 1 = +13.6 %, both on hosts that are alike: beyond 10 %; 9.1 % is not.
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "measured.json: the step is off by +13.6 % normalised (tolerance 10.0 %)\n");
  EXPECT_THAT(ran.out, testing::StartsWith("  report "));
  const core::Json json = parsed(workplace_->read("many.json"));
  EXPECT_NEAR(json["step_error"].get<double>(), 1.2 / 1.1 - 1.0, 1e-9);
  ASSERT_EQ(json["further"].size(), 1U);
  EXPECT_NEAR(json["further"][0]["step_error"].get<double>(), 1.25 / 1.1 - 1.0, 1e-9);
}

TEST_F(Verbs, scoreboard_joins_a_folder) {
  const Ran ran = run({"scoreboard", "--runs", "runs", "--markdown", "board.md"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("digits"), HasSubstr("−4.3 %"), HasSubstr("Paceline")));
  EXPECT_THAT(workplace_->read("board.md"), HasSubstr("| Paceline | 1 |"));
}

TEST_F(Verbs, check_names_the_kind_of_each_file) {
  EXPECT_EQ(
      run({"check", "experiment.json", "predicted.json", "measurements.json", "this_machine.json"})
          .out,
      "ok  experiment.json  experiment\nok  predicted.json  report\n"
      "ok  measurements.json  measurements\nok  this_machine.json  cluster\n");
}

TEST_F(Verbs, check_prints_every_schema) {
  for (const std::string kind : {"experiment", "cluster", "node", "gpu", "ambiguous_names", "zoo",
                                 "report", "measurements"}) {
    const Ran ran = run({"check", "--schema", kind});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(parsed(ran.out)["properties"]["schema"]["const"], "paceline/" + kind + "/1");
  }
  const Ran ran = run({"check", "--schema", "trace"});  // has the keys of PyTorch's profiler
  EXPECT_EQ(parsed(ran.out)["properties"]["schemaVersion"]["const"], 1);
}

TEST_F(Verbs, list_knows_every_kind) {
  EXPECT_THAT(run({"list", "models"}).out, HasSubstr("vit_base_patch16_224"));
  EXPECT_THAT(run({"list", "frameworks"}).out, HasSubstr("paceline"));
  EXPECT_THAT(run({"list", "gpus"}).out, HasSubstr("rtx3090"));
  EXPECT_THAT(run({"list", "nodes"}).out, HasSubstr("hgx_h200"));
  EXPECT_THAT(run({"list", "clusters"}).out,
              AllOf(HasSubstr("tesla"), HasSubstr(".json"), HasSubstr("as detected now")));
}

class RunVerb : public testing::Test {
 protected:
  RunVerb() {
    workplace_.write("two.json", planted_experiment());
    workplace_.stand_in_for_runtime(7);
  }
  [[nodiscard]] Ran run(const std::vector<std::string>& words) const {
    return workplace_.run(words, {{"PATH", workplace_.path("bin").string() + ":/usr/bin:/bin"}});
  }
  Workplace workplace_;
};

TEST_F(RunVerb, becomes_the_runtime_through_mpirun_and_passes_options_on) {
  const Ran ran = run({"run", "two.json", "--ranks", "2", "--json", "m.json", "--x=y"});
  EXPECT_EQ(ran.code, 7);  // the program's own
  EXPECT_THAT(ran.out, StartsWith("mpirun --oversubscribe -n 2 "));
  EXPECT_THAT(ran.out, HasSubstr("paceline-rt train two.json --json m.json --x=y\n"));
}

TEST_F(RunVerb, one_rank_needs_no_mpirun) {
  workplace_.write(
      "one.json",
      R"({"schema": "paceline/experiment/1", "model": "vit_digits", "framework": "paceline",
                                    "training": {"micro_batch": 2}})");
  EXPECT_THAT(run({"run", "one.json"}).out, HasSubstr("train one.json\n"));
  EXPECT_THAT(run({"run", "one.json"}).out, Not(HasSubstr("mpirun")));
}

TEST_F(RunVerb, ranks_must_agree_with_the_experiment) {
  const Ran ran = run({"run", "two.json", "--ranks=3"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "two.json#/parallel/world_size: got 2 but --ranks is 3 (both must be the "
            "same)\n");
}

}  // namespace
}  // namespace paceline::cli
