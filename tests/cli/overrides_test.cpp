#include "cli/overrides.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "program.hpp"

namespace paceline::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Overrides : public testing::Test {
 protected:
  Overrides() {
    workplace_.write("e.json", R"({
      // comments are allowed
      "schema": "paceline/experiment/1", "model": "vit_digits", "framework": "paceline",
      "training": {"micro_batch": [4, 8], "epochs": 3}, "parallel": {"world_size": 2}})");
  }

  [[nodiscard]] models::Experiment read(const std::vector<std::string>& overrides) const {
    return read_experiment_with(workplace_.path("e.json"), overrides);
  }
  [[nodiscard]] std::string message_of(const std::vector<std::string>& overrides) const {
    try {
      static_cast<void>(read(overrides));
    } catch (const std::exception& error) {
      return error.what();
    }
    return "no fault";
  }

  Workplace workplace_;
};

TEST_F(Overrides, none_read_the_file_as_it_is) {
  EXPECT_EQ(read({}).training.micro_batch, (std::vector<std::int64_t>{4, 8}));
}

TEST_F(Overrides, paths_may_have_dots_or_slashes) {
  EXPECT_EQ(read({"training.epochs=7"}).training.epochs, 7);
  EXPECT_EQ(read({"training/epochs=7"}).training.epochs, 7);
  EXPECT_EQ(read({"/training/epochs=7"}).training.epochs, 7);
}

TEST_F(Overrides, values_are_json_or_else_text) {
  EXPECT_EQ(read({"training.micro_batch=[1, 2]"}).training.micro_batch,
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(read({"model=vit_cifar10"}).model.id, "vit_cifar10");
  EXPECT_EQ(read({"cluster=folder/with.dots.json"}).cluster.name, "folder/with.dots.json");
  EXPECT_FALSE(read({"parallel.overlap=false"}).parallel.overlap);
  EXPECT_EQ(read({"training.learning_rate=3e-4"}).training.learning_rate, 3e-4);
}

TEST_F(Overrides, a_value_may_hold_equals_signs) {
  EXPECT_EQ(read({"cluster=a=b.json"}).cluster.name, "a=b.json");
}

TEST_F(Overrides, later_ones_win) {
  EXPECT_EQ(read({"training.epochs=7", "training.epochs=9"}).training.epochs, 9);
}

TEST_F(Overrides, make_objects_that_are_not_there) {
  EXPECT_EQ(read({"run.steps=5"}).run.steps, 5);
}

TEST_F(Overrides, reach_into_lists) {
  EXPECT_EQ(read({"training.micro_batch.1=16"}).training.micro_batch,
            (std::vector<std::int64_t>{4, 16}));
}

TEST_F(Overrides, a_key_of_a_named_model_starts_from_that_model) {
  const models::Experiment experiment = read({"model.depth=2"});
  EXPECT_EQ(experiment.model.depth, 2);
  EXPECT_EQ(experiment.model.width, 64);  // of vit_digits
}

TEST_F(Overrides, faults_are_located_and_name_the_override) {
  EXPECT_THAT(message_of({"training.epochs=0"}),
              AllOf(HasSubstr("e.json#/training/epochs: got 0 (must be >= 1)"),
                    HasSubstr("[from --set training.epochs=0]")));
}

TEST_F(Overrides, faults_of_the_file_do_not) {
  workplace_.write("e.json", R"({"schema": "paceline/experiment/1", "model": "vit_digits",
                                 "training": {"micro_batch": 0}})");
  const std::string message = message_of({"training.epochs=2"});
  EXPECT_THAT(message, HasSubstr("#/training/micro_batch: got 0"));
  EXPECT_THAT(message, testing::Not(HasSubstr("--set")));
}

TEST_F(Overrides, unknown_paths_give_the_nearest) {
  EXPECT_EQ(message_of({"training.epoch=2"}),
            "--set training.epoch=2: unknown path, did you mean training.epochs?");
  EXPECT_EQ(message_of({"trainin.epochs=2"}),
            "--set trainin.epochs=2: unknown path, did you mean training.epochs?");
  EXPECT_EQ(message_of({"micro_batch=2"}),
            "--set micro_batch=2: unknown path, did you mean training.micro_batch?");
  EXPECT_EQ(message_of({"world_size=2"}),
            "--set world_size=2: unknown path, did you mean parallel.world_size?");
}

TEST_F(Overrides, foreign_spellings_are_told_our_key) {
  EXPECT_THAT(message_of({"batch_size=2"}),
              AllOf(HasSubstr("#/batch_size: unknown key; here it is \"training/micro_batch\": 2"),
                    HasSubstr("[from --set batch_size=2]")));
}

TEST_F(Overrides, what_cannot_be_followed_is_refused) {
  EXPECT_EQ(message_of({"training.epochs"}),
            "--set training.epochs: has no value (write path=value)");
  EXPECT_THAT(message_of({"training..epochs=1"}), HasSubstr("has an empty key"));
  EXPECT_THAT(message_of({"training.micro_batch.2=1"}),
              HasSubstr("got place \"2\" in a list of 2 (must be 0 to 1)"));
  EXPECT_THAT(message_of({"training=3", "training.epochs=1"}),
              HasSubstr("nothing can stand at \"epochs\", for above it the file has 3"));
}

TEST_F(Overrides, a_missing_file_is_named) {
  try {
    static_cast<void>(read_experiment_with("/nowhere/e.json", {"training.epochs=1"}));
    FAIL() << "no fault";
  } catch (const core::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere/e.json: no such file"));
  }
}

}  // namespace
}  // namespace paceline::cli
