#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planted_files.hpp"

/// Command lines that are wrong: exit 2, a message on standard error that says what to do instead.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class BadUsage : public testing::Test {
 protected:
  static void SetUpTestSuite() { workplace_ = new ExampleWorkplace; }
  static void TearDownTestSuite() {
    delete workplace_;
    workplace_ = nullptr;
  }
  static std::string message_of(const std::vector<std::string>& words) {
    const std::vector<std::string> before = workplace_->files();
    const Ran ran = workplace_->run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(workplace_->files(), before);
    return ran.err;
  }
  static ExampleWorkplace* workplace_;
};
ExampleWorkplace* BadUsage::workplace_ = nullptr;

TEST_F(BadUsage, no_verb_shows_all_of_them) {
  EXPECT_THAT(message_of({}), AllOf(HasSubstr("usage: paceline VERB"), HasSubstr("scoreboard")));
}

TEST_F(BadUsage, an_unknown_verb_gives_the_nearest) {
  EXPECT_EQ(message_of({"predikt", "experiment.json"}),
            "paceline: unknown verb \"predikt\", did you mean \"predict\"? (`paceline help` lists "
            "all)\n");
  EXPECT_THAT(message_of({"help", "comparre"}), HasSubstr("did you mean \"compare\"?"));
  EXPECT_THAT(message_of({"fly"}), StartsWith("paceline: unknown verb \"fly\" ("));
}

TEST_F(BadUsage, an_unknown_option_gives_the_nearest) {
  EXPECT_EQ(message_of({"predict", "experiment.json", "--jason", "o.json"}),
            "paceline predict: unknown option --jason, did you mean --json? (`paceline help "
            "predict` shows all)\n");
  EXPECT_THAT(message_of({"compare", "a", "b", "--jsn=o.json"}),
              HasSubstr("unknown option --jsn, did you mean --json?"));
}

TEST_F(BadUsage, an_option_is_not_guessed_from_its_start) {
  EXPECT_THAT(message_of({"predict", "experiment.json", "--js", "o.json"}),
              HasSubstr("unknown option --js, did you mean --json?"));
}

TEST_F(BadUsage, the_name_of_operands_inside_is_no_option) {
  EXPECT_THAT(message_of({"predict", "--operand", "experiment.json"}),
              HasSubstr("unknown option --operand"));
}

TEST_F(BadUsage, operands_are_counted) {
  EXPECT_EQ(message_of({"predict"}),
            "paceline predict: needs EXPERIMENT | MODEL --gpus LIST (`paceline help predict` shows "
            "all)\n");
  EXPECT_THAT(message_of({"compare", "predicted.json"}), HasSubstr("needs REPORT REPORT…"));
  EXPECT_THAT(
      message_of({"predict", "experiment.json", "again.json"}),
      HasSubstr(
          "does not know what to do with \"again.json\" (takes EXPERIMENT | MODEL --gpus LIST)"));
  EXPECT_THAT(message_of({"scoreboard", "runs"}), HasSubstr("\"runs\" (takes no operand)"));
  EXPECT_THAT(message_of({"check"}), HasSubstr("needs FILE…"));
  EXPECT_THAT(message_of({"help", "predict", "compare"}), HasSubstr("must be one verb"));
}

TEST_F(BadUsage, options_need_their_values_and_stand_once) {
  EXPECT_THAT(message_of({"predict", "experiment.json", "--json"}), HasSubstr("--json"));
  EXPECT_THAT(message_of({"predict", "experiment.json", "--json", "a.json", "--json", "b.json"}),
              HasSubstr("--json is given twice (it may stand once)"));
  EXPECT_THAT(message_of({"make-profile", "measurements.json"}), HasSubstr("needs --out FILE"));
  EXPECT_THAT(message_of({"scoreboard"}), HasSubstr("needs --runs DIR"));
}

TEST_F(BadUsage, contradictions_are_refused) {
  EXPECT_THAT(message_of({"predict", "experiment.json", "--quiet", "--brief"}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(message_of({"check", "experiment.json", "--schema", "report"}),
              HasSubstr("--schema takes no file"));
}

TEST_F(BadUsage, a_tolerance_is_a_number) {
  for (const std::string bad : {"ten", "10%", "-0.1", "nan", ""}) {
    EXPECT_THAT(message_of({"compare", "predicted.json", "measured.json", "--tolerance=" + bad}),
                AllOf(HasSubstr("tolerance"), HasSubstr(bad)));
  }
}

TEST_F(BadUsage, kinds_give_the_nearest) {
  EXPECT_THAT(message_of({"list", "gpu"}), HasSubstr("unknown kind \"gpu\", did you mean gpus?"));
  EXPECT_THAT(message_of({"check", "--schema", "reports"}), HasSubstr("did you mean report?"));
}

TEST_F(BadUsage, a_file_that_cannot_be_written_is_refused_before_the_work) {
  EXPECT_EQ(message_of({"predict", "no_such_experiment.json", "--json", "nowhere/o.json"}),
            "--json nowhere/o.json: the folder nowhere does not exist (make it first)\n");
  EXPECT_THAT(message_of({"predict", "experiment.json", "--json", "runs"}),
              HasSubstr("--json runs: is not a regular file"));
  EXPECT_THAT(message_of({"predict", "experiment.json", "--json="}), HasSubstr("--json"));
}

TEST_F(BadUsage, run_wants_the_experiment_first_and_a_runtime) {
  EXPECT_THAT(message_of({"run"}), HasSubstr("needs EXPERIMENT"));
  EXPECT_THAT(message_of({"run", "--ranks", "2", "experiment.json"}),
              HasSubstr("got --ranks where the experiment stands"));
  EXPECT_THAT(message_of({"run", "experiment.json", "--ranks"}),
              HasSubstr("--ranks needs a number"));
  EXPECT_THAT(message_of({"run", "experiment.json", "--ranks", "two"}),
              HasSubstr("got \"two\" (must be a whole number >= 1)"));
}

TEST_F(BadUsage, a_full_disk_behind_standard_output_is_a_failure) {
  const Ran ran = workplace_->run_into("/dev/full", {"list", "models"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("standard output cannot be written"));
}

}  // namespace
}  // namespace paceline::cli
