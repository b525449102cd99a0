#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/json.hpp"
#include "planted_files.hpp"

/// `paceline predict MODEL --gpus …`: no file needed.
namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

core::Json parsed(const std::string& text) {
  core::Faults faults;
  core::Json json = core::parse_json(text, core::Cursor("text", faults));
  faults.throw_if_any();
  json.erase("provenance");
  return json;
}

const std::vector<std::string> mixed{"predict",       "vit_base_patch16_224",
                                     "--gpus",        "rtx3090,gtx1080ti",
                                     "--micro-batch", "64",
                                     "--precision",   "amp_fp16",
                                     "--data",        "cifar100"};

std::vector<std::string> with(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Inline, report_equals_that_of_the_saved_file) {
  const ExampleWorkplace workplace;
  const Ran typed = workplace.run(with(mixed, {"--save", "lab.json", "--json", "-"}));
  ASSERT_EQ(typed.code, 0) << typed.err;
  const Ran filed = workplace.run({"predict", "lab.json", "--json", "-"});
  ASSERT_EQ(filed.code, 0) << filed.err;
  EXPECT_EQ(parsed(filed.out), parsed(typed.out));
  EXPECT_EQ(workplace.run({"check", "lab.json"}).code, 0);
}

TEST(Inline, nothing_is_assumed_where_everything_is_given) {
  const ExampleWorkplace workplace;
  const Ran ran = workplace.run({"predict",       "vit_base_patch16_224",
                                 "--gpus",        "h200",
                                 "--micro-batch", "64",
                                 "--precision",   "amp_bf16",
                                 "--optimizer",   "adamw",
                                 "--data",        "synthetic",
                                 "--framework",   "pytorch_ddp@2.11",
                                 "--set",         "framework.optimizer_kernels=fused",
                                 "--set",         "framework.fused_attention=true",
                                 "--set",         "framework.host_us_per_operator=12",
                                 "--json",        "-"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(parsed(ran.out)["assumptions"], IsEmpty());
}

TEST(Inline, what_was_not_said_is_listed_with_what_it_would_change) {
  const ExampleWorkplace workplace;
  const Ran ran = workplace.run(with(mixed, {"--json", "-"}));
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::vector<std::string> keys;
  double swing_before = 1e300;
  const core::Json report = parsed(ran.out);
  for (const auto& one : report["assumptions"]) {
    keys.push_back(one["key"]);
    const double swing =
        one["step_time_us_high"].get<double>() - one["step_time_us_low"].get<double>();
    EXPECT_LE(swing, swing_before) << keys.back();  // worst first
    swing_before = swing;
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAre(
                        "cluster", "framework", "framework.version", "framework.optimizer_kernels",
                        "framework.fused_attention", "framework.host_us_per_operator",
                        "training.optimizer"));
}

TEST(Inline, unlike_cards_are_compared_at_the_same_global_batch) {
  const ExampleWorkplace workplace;
  const Ran ran = workplace.run(mixed, {{"COLUMNS", "100"}});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("Your slower cards make training"), HasSubstr("global batch of 128"),
                    HasSubstr("NVIDIA GeForce RTX 3090 alone"), HasSubstr("← do this"),
                    HasSubstr("largest micro-batch"), HasSubstr("you did not say"),
                    HasSubstr("Trust: datasheets")));
}

TEST(Inline, equal_cards_have_no_alternatives) {
  const ExampleWorkplace workplace;
  const Ran ran = workplace.run({"predict", "vit_base_patch16_224", "--gpus", "a100_sxm4_80gb:8",
                                 "--micro-batch", "64", "--precision", "amp_bf16"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("8 ranks × 64 images"), Not(HasSubstr("do this"))));
}

TEST(Inline, screens_keep_to_their_width_and_to_ascii) {
  const ExampleWorkplace workplace;
  for (const char* columns : {"80", "100"}) {
    const Ran ran = workplace.run(mixed, {{"COLUMNS", columns}, {"LC_ALL", "C"}});
    ASSERT_EQ(ran.code, 0) << ran.err;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), std::stoul(columns)) << line;
      for (const char c : line) EXPECT_GE(static_cast<signed char>(c), 0) << line;
    }
  }
}

TEST(Inline, a_job_that_does_not_fit_has_no_time_and_names_the_largest_micro_batch) {
  const ExampleWorkplace workplace;
  const std::vector<std::string> words{
      "predict", "vit_base_patch16_224", "--gpus", "gtx1080ti", "--micro-batch",
      "512",     "--precision",          "fp32"};
  const Ran ran = workplace.run(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Does not fit"), HasSubstr("largest micro-batch")));
  EXPECT_EQ(workplace.run(with(words, {"--require-fit"})).code, 1);
  const core::Json report = parsed(workplace.run(with(words, {"--json", "-"})).out);
  EXPECT_EQ(report["fits"], false);
  EXPECT_FALSE(report.contains("step_time_us"));
}

TEST(InlineReject, says_what_is_wrong_and_what_to_write) {
  const ExampleWorkplace workplace;
  const auto message = [&](const std::vector<std::string>& words) {
    const Ran ran = workplace.run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    return ran.err;
  };
  EXPECT_THAT(message({"predict", "vit_b_16"}), HasSubstr("is a model (name the cards, as --gpus"));
  EXPECT_THAT(message({"predict", "vit_b_16", "--gpus", "a100", "--micro-batch", "8"}),
              HasSubstr("a100"));
  EXPECT_THAT(message({"predict", "vit_b_16", "--gpus", "t4:0", "--micro-batch", "8"}),
              HasSubstr("write a name, or name:count"));
  EXPECT_THAT(message({"predict", "vit_b_16", "--gpus", "t4"}), HasSubstr("micro_batch"));
  EXPECT_THAT(message({"predict", "vit_b_61", "--gpus", "t4", "--micro-batch", "8"}),
              HasSubstr("did you mean"));
  EXPECT_THAT(
      message({"predict", "vit_b_16", "--gpus", "t4", "--micro-batch", "8", "--precision", "fp16"}),
      HasSubstr("training/precision"));
  EXPECT_THAT(message({"predict", "vit_b_16", "--gpus", "t4", "--micro-batch", "8,8,8"}),
              HasSubstr("micro_batch"));
  EXPECT_THAT(message({"predict", "example.json", "--micro-batch", "8"}),
              HasSubstr("goes with MODEL --gpus"));
}

}  // namespace
}  // namespace paceline::cli
