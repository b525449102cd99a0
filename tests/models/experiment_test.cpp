#include "models/experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.hpp"
#include "core/json.hpp"
#include "models/zoo.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::models {
namespace {

using core::Json;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

Experiment read(const std::string& text) { return read_experiment_text(text, "e.json"); }

constexpr const char* smallest = R"({
  "schema": "paceline/experiment/1",
  "model": "vit_digits",
  "training": {"micro_batch": 64}
})";

constexpr const char* everything = R"({
  // Every key that an experiment may have.
  "schema": "paceline/experiment/1",
  "model": {"id": "mine", "base": "vit_digits", "image_size": 16, "patch_size": 4, "channels": 1,
            "width": 96, "depth": 3, "heads": 6, "mlp_hidden": 200, "classes": 7, "gelu": "tanh",
            "layer_norm_epsilon": 1e-5},
  "cluster": "clusters/lab.json",
  "framework": "paceline",
  "training": {"micro_batch": [64, 32], "accumulation_steps": 4, "precision": "fp32",
               "optimizer": "adamw", "learning_rate": 5e-4, "betas": [0.8, 0.95], "epsilon": 1e-7,
               "weight_decay": 0.05,
               "dataset": {"name": "digits", "path": "data/digits", "samples": 1500},
               "epochs": 12, "seed": 42},
  "parallel": {"world_size": 2, "bucket_mib": 4, "overlap": false},
  "run": {"steps": 50, "warmup_steps": 0}
})";

TEST(ExperimentFile, needs_only_a_model_and_a_micro_batch) {
  const Experiment experiment = read(smallest);
  EXPECT_EQ(experiment.model.id, "vit_digits");
  EXPECT_EQ(experiment.model.width, 64);
  EXPECT_THAT(experiment.training.micro_batch, ElementsAre(64));
}

// What is left out is what torch.optim.AdamW and DistributedDataParallel take: learning rate 1e-3,
// betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01, buckets of 25 MiB, overlapped.
TEST(ExperimentFile, takes_the_defaults_of_pytorch) {
  const Experiment experiment = read(smallest);
  EXPECT_EQ(experiment.training.accumulation_steps, 1);
  EXPECT_EQ(experiment.training.precision, core::Precision::fp32);
  EXPECT_EQ(experiment.training.optimizer, core::OptimizerKind::adamw);
  EXPECT_EQ(experiment.training.learning_rate, 1e-3);
  EXPECT_THAT(experiment.training.betas, ElementsAre(0.9, 0.999));
  EXPECT_EQ(experiment.training.epsilon, 1e-8);
  EXPECT_EQ(experiment.training.weight_decay, 0.01);
  EXPECT_EQ(experiment.training.dataset.name, "synthetic");
  EXPECT_EQ(experiment.parallel.world_size, 1);
  EXPECT_EQ(experiment.parallel.bucket_mib, 25);
  EXPECT_TRUE(experiment.parallel.overlap);
  EXPECT_EQ(experiment.framework.name, core::FrameworkKind::pytorch_ddp);
  EXPECT_EQ(experiment.cluster.name, "this_machine");
}

TEST(ExperimentFile, takes_everything_that_is_given) {
  const Experiment experiment = read(everything);
  const VitArchitecture& model = experiment.model;
  EXPECT_EQ(model.id, "mine");
  EXPECT_EQ(model.image_size, 16);
  EXPECT_EQ(model.patch_size, 4);
  EXPECT_EQ(model.channels, 1);
  EXPECT_EQ(model.width, 96);
  EXPECT_EQ(model.depth, 3);
  EXPECT_EQ(model.heads, 6);
  EXPECT_EQ(model.mlp_hidden, 200);
  EXPECT_EQ(model.classes, 7);
  EXPECT_EQ(model.gelu, core::GeluForm::tanh);
  EXPECT_EQ(model.layer_norm_epsilon, 1e-5);
  EXPECT_EQ(experiment.cluster.name, "clusters/lab.json");
  const Training& training = experiment.training;
  EXPECT_THAT(training.micro_batch, ElementsAre(64, 32));
  EXPECT_EQ(training.accumulation_steps, 4);
  EXPECT_EQ(training.dataset.name, "digits");
  EXPECT_EQ(training.dataset.path, "data/digits");
  EXPECT_EQ(training.dataset.samples, 1500);
  EXPECT_EQ(training.epochs, 12);
  EXPECT_EQ(training.seed, 42);
  EXPECT_EQ(experiment.parallel.world_size, 2);
  EXPECT_EQ(experiment.parallel.bucket_mib, 4);
  EXPECT_FALSE(experiment.parallel.overlap);
  EXPECT_EQ(experiment.run.steps, 50);
  EXPECT_EQ(experiment.run.warmup_steps, 0);
}

TEST(ExperimentFile, gives_adamw_its_settings) {
  const OptimizerSettings adamw = read(everything).training.optimizer_settings();
  EXPECT_EQ(adamw.learning_rate, 5e-4);
  EXPECT_EQ(adamw.beta1, 0.8);
  EXPECT_EQ(adamw.beta2, 0.95);
  EXPECT_EQ(adamw.epsilon, 1e-7);
  EXPECT_EQ(adamw.weight_decay, 0.05);
}

TEST(ExperimentText, reads_back_as_the_same_experiment) {
  for (const char* text : {smallest, everything}) {
    const std::string written = experiment_text(read(text));
    EXPECT_EQ(experiment_text(read(written)), written);
    EXPECT_EQ(read(written).hash(), read(text).hash());
  }
}

TEST(ExperimentText, survives_a_file) {
  const test::TemporaryFolder folder;
  const std::string written = experiment_text(read(everything));
  core::write_file_atomically(folder / "e.json", written);
  EXPECT_EQ(experiment_text(read_experiment(folder / "e.json")), written);
}

TEST(ExperimentText, has_every_default_written_out) {
  const Json json = Json::parse(experiment_text(read(smallest)));
  EXPECT_EQ(json["training"]["learning_rate"], 1e-3);
  EXPECT_EQ(json["parallel"]["bucket_mib"], 25);
  EXPECT_EQ(json["model"]["patch_size"], 8);
  EXPECT_FALSE(json["training"]["dataset"].contains("path"));
}

TEST(ExperimentText, writes_one_micro_batch_as_one_value_and_several_as_a_list) {
  EXPECT_EQ(Json::parse(experiment_text(read(smallest)))["training"]["micro_batch"], 64);
  EXPECT_EQ(Json::parse(experiment_text(read(everything)))["training"]["micro_batch"],
            (Json{64, 32}));
}

TEST(ExperimentModel, every_zoo_name_and_alias_is_read) {
  for (const ZooEntry& entry : zoo()) {
    std::vector<std::string> names = entry.aliases;
    names.push_back(entry.architecture.id);
    for (const std::string& name : names) {
      const Json json{
          {"schema", "paceline/experiment/1"}, {"model", name}, {"training", {{"micro_batch", 1}}}};
      EXPECT_EQ(read(json.dump()).model.id, entry.architecture.id) << name;
    }
  }
}

TEST(ExperimentModel, changes_a_base) {
  const Experiment experiment = read(R"({"schema": "paceline/experiment/1",
    "model": {"base": "vit_base_patch16_224", "image_size": 384}, "training": {"micro_batch": 1}})");
  EXPECT_EQ(experiment.model.id, "vit_base_patch16_224+");
  EXPECT_EQ(experiment.model.tokens(), 24 * 24 + 1);
  // The same as timm's own model of that size.
  EXPECT_EQ(parameter_count(experiment.model),
            parameter_count(find_in_zoo("vit_base_patch16_384")->architecture));
}

TEST(ExperimentModel, unchanged_base_keeps_its_name) {
  const Experiment experiment = read(R"({"schema": "paceline/experiment/1",
    "model": {"base": "vit_b_16"}, "training": {"micro_batch": 1}})");
  EXPECT_EQ(experiment.model.id, "vit_base_patch16_224");
}

TEST(ExperimentBatch, one_value_holds_for_all_ranks_and_a_list_for_each) {
  Experiment experiment = read(everything);
  EXPECT_EQ(experiment.micro_batch_of(0), 64);
  EXPECT_EQ(experiment.micro_batch_of(1), 32);
  experiment.training.micro_batch = {8};
  EXPECT_EQ(experiment.micro_batch_of(1), 8);
}

// (64 + 32) images · 4 micro-steps; 64 · 1.
TEST(ExperimentBatch, global_batch_is_the_sum_over_ranks_and_micro_steps) {
  EXPECT_EQ(read(everything).global_batch(), 384);
  EXPECT_EQ(read(smallest).global_batch(), 64);
}

TEST(ExperimentHash, does_not_depend_on_where_the_data_lie) {
  Experiment moved = read(everything);
  moved.training.dataset.path = "/elsewhere";
  EXPECT_EQ(moved.hash(), read(everything).hash());
  moved.training.dataset.samples = 1501;
  EXPECT_NE(moved.hash(), read(everything).hash());
}

TEST(ExperimentHash, is_the_same_for_an_alias_and_for_defaults_written_out) {
  const std::string start = R"({"schema": "paceline/experiment/1", "model": ")";
  const std::string first = start + R"(vit_b_16", "training": {"micro_batch": 2}})";
  const std::string second =
      start + R"(vit_base_patch16_224", "training": {"micro_batch": [2], "epochs": 1}})";
  EXPECT_EQ(read(first).hash(), read(second).hash());
}

TEST(ExperimentSchema, requires_what_reading_requires_and_names_every_key) {
  const Json schema = Json::parse(experiment_schema());
  EXPECT_THAT(schema["required"].get<std::vector<std::string>>(),
              UnorderedElementsAre("schema", "model", "training"));
  EXPECT_THAT(schema["properties"]["training"]["required"].get<std::vector<std::string>>(),
              ElementsAre("micro_batch"));
  const Json written = Json::parse(experiment_text(read(everything)));
  for (const auto& [section, value] : written.items()) {
    ASSERT_TRUE(schema["properties"].contains(section)) << section;
    if (section == "model" || !value.is_object()) continue;
    for (const auto& [key, inner] : value.items()) {
      EXPECT_TRUE(schema["properties"][section]["properties"].contains(key)) << key;
    }
  }
}

}  // namespace
}  // namespace paceline::models
