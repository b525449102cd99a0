#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "planted_files.hpp"

/// Each verb that writes after reading a file, given a file that is wrong: exit 2, a message that
/// names file and place, nothing on standard output, no file left behind. What can be wrong with
/// each kind of file: `bad_files`.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A verb with the file that it reads and where it would write.
struct Reader {
  std::string name;
  std::vector<std::string> words;  // FILE stands for the file
  std::string good;                // a file of ExampleWorkplace
  std::string unknown_key;         // an object of it and a misspelt key
  std::string suggestion;
  std::string impossible;  // pointer of a value that becomes -1
};

void PrintTo(const Reader& reader, std::ostream* out) { *out << reader.name; }

class BadInput : public testing::TestWithParam<Reader> {
 protected:
  static void SetUpTestSuite() { workplace_ = new ExampleWorkplace; }
  static void TearDownTestSuite() {
    delete workplace_;
    workplace_ = nullptr;
  }

  /// Runs the verb on `bad.json` with this text and returns its message.
  static std::string message_of(const std::string& text) {
    workplace_->write("bad.json", text);
    return message_with("bad.json");
  }

  static std::string message_with(const std::string& file) {
    std::vector<std::string> words = GetParam().words;
    std::replace(words.begin(), words.end(), std::string("FILE"), file);
    const std::vector<std::string> before = workplace_->files();
    const Ran ran = workplace_->run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(workplace_->files(), before);
    return ran.err;
  }

  static core::Json good() {
    core::Faults none;
    return core::parse_json(workplace_->read(GetParam().good), core::Cursor("", none));
  }

  static ExampleWorkplace* workplace_;
};
ExampleWorkplace* BadInput::workplace_ = nullptr;

TEST_P(BadInput, a_missing_file_is_named) {
  EXPECT_EQ(message_with("nowhere.json"), "nowhere.json: no such file (give a path that exists)\n");
}

TEST_P(BadInput, a_folder_is_no_file) {
  EXPECT_EQ(message_with("runs"), "runs: is not a regular file (give a file, not a folder)\n");
}

TEST_P(BadInput, malformed_json_is_located) {
  EXPECT_THAT(message_of("{\"schema\": }"),
              AllOf(HasSubstr("bad.json"), HasSubstr("not valid JSON"), HasSubstr("line 1")));
}

TEST_P(BadInput, an_unknown_key_gives_the_nearest) {
  core::Json json = good();
  json[core::Json::json_pointer(GetParam().unknown_key)] = 1;
  EXPECT_THAT(message_of(core::to_text(json)),
              HasSubstr("bad.json#" + GetParam().unknown_key + ": unknown key, did you mean \"" +
                        GetParam().suggestion + "\"?"));
}

TEST_P(BadInput, an_impossible_value_is_located_with_what_is_allowed) {
  core::Json json = good();
  json[core::Json::json_pointer(GetParam().impossible)] = -1;
  EXPECT_THAT(message_of(core::to_text(json)),
              HasSubstr("bad.json#" + GetParam().impossible + ": got -1 (must be >"));
}

TEST_P(BadInput, all_faults_come_at_once) {
  core::Json json = good();
  json[core::Json::json_pointer(GetParam().unknown_key)] = 1;
  json[core::Json::json_pointer(GetParam().impossible)] = -1;
  EXPECT_THAT(message_of(core::to_text(json)),
              AllOf(HasSubstr(GetParam().unknown_key), HasSubstr(GetParam().impossible)));
}

TEST_P(BadInput, a_key_given_twice_is_a_fault) {
  EXPECT_THAT(message_of("{\"schema\": 1, \"schema\": 2}"),
              HasSubstr("bad.json#/schema: this key is given twice"));
}

INSTANTIATE_TEST_SUITE_P(Verbs, BadInput,
                         testing::Values(Reader{"predict",
                                                {"predict", "FILE", "--json", "o.json", "--trace",
                                                 "t.json", "--save", "s.json"},
                                                "experiment.json",
                                                "/training/micro_bach",
                                                "micro_batch",
                                                "/training/micro_batch"},
                                         Reader{"make_profile",
                                                {"make-profile", "FILE", "--out", "o.json"},
                                                "measurements.json",
                                                "/host_isue_us",
                                                "host_issue_us",
                                                "/levels/1/kernels/0/time_us"},
                                         Reader{"compare",
                                                {"compare", "predicted.json", "FILE", "--json",
                                                 "o.json"},
                                                "measured.json",
                                                "/ranks/0/devise",
                                                "device",
                                                "/ranks/0/micro_batch"},
                                         Reader{"run",
                                                {"run", "FILE"},
                                                "experiment.json",
                                                "/training/epoch",
                                                "epochs",
                                                "/training/micro_batch"}),
                         [](const auto& given) { return given.param.name; });

class BadSets : public testing::Test {
 protected:
  ExampleWorkplace workplace_;
};

TEST_F(BadSets, reports_of_different_experiments_do_not_compare) {
  ASSERT_EQ(workplace_
                .run({"predict", "experiment.json", "--set", "training.micro_batch=4", "--json",
                      "other.json"})
                .code,
            0);
  const Ran ran = workplace_.run({"compare", "other.json", "measured.json", "--json", "o.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("measured.json#/identity/experiment_hash: got "),
                             HasSubstr("but other.json has "),
                             HasSubstr("measured.json#/identity/program_hashes: got ")));
  EXPECT_FALSE(workplace_.has("o.json"));
}

TEST_F(BadSets, check_finds_phases_that_do_not_add_up) {
  core::Report report = core::read_report(workplace_.path("measured.json"));
  report.ranks[0].phases_us[core::TimelinePhase::other] += 0.02 * report.step_time_us->median;
  workplace_.write("bad.json", core::report_text(report));
  const Ran ran = workplace_.run({"check", "experiment.json", "bad.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.out, "ok  experiment.json  experiment\n");
  EXPECT_THAT(ran.err, HasSubstr("bad.json: phases of rank 0 sum to "));
}

TEST_F(BadSets, a_set_that_is_wrong_names_itself_and_writes_nothing) {
  const Ran ran = workplace_.run(
      {"predict", "experiment.json", "--set", "training.micro_batch=0", "--json", "o.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "experiment.json#/training/micro_batch: got 0 (must be >= 1) [from --set "
            "training.micro_batch=0]\n");
  EXPECT_FALSE(workplace_.has("o.json"));
}

TEST_F(BadSets, a_fit_that_cannot_be_made_names_the_measurements) {
  core::Faults none;
  core::Json json = core::parse_json(workplace_.read("measurements.json"), core::Cursor("", none));
  core::Json& kernels = json["levels"][1]["kernels"];
  kernels.erase(kernels.begin() + 1, kernels.end());
  workplace_.write("bad.json", core::to_text(json));
  const Ran ran = workplace_.run({"make-profile", "bad.json", "--out", "o.json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("bad.json#/levels/1/kernels: class \"load_batch\" has 1 "
                                       "row"),
                             HasSubstr("class \"matmul_nt\" is missing")));
  EXPECT_FALSE(workplace_.has("o.json"));
}

TEST_F(BadSets, scoreboard_needs_a_folder_with_pairs) {
  const Ran ran = workplace_.run({"scoreboard", "--runs", "nowhere", "--markdown", "o.md"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("nowhere: is not a readable folder"));
  EXPECT_FALSE(workplace_.has("o.md"));
}

TEST_F(BadSets, no_text_of_a_file_commands_the_terminal) {
  workplace_.write("bad.json", "{\"schema\": \"paceline/\\u001b[2J/1\"}");
  EXPECT_THAT(workplace_.run({"check", "bad.json"}).err, testing::Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace paceline::cli
