#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "models/experiment.hpp"
#include "tests/core/damaged_document.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::models {
namespace {

using core::Fault;
using test::Damage;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<Fault> faults_in(const std::string& text) {
  return test::faults_of([&] { return read_experiment_text(text, "e.json"); });
}

/// Good, and every object that a key could be misspelt in is there.
constexpr const char* good = R"({
  "schema": "paceline/experiment/1",
  "model": {"base": "vit_base_patch16_224"},
  "cluster": "this_machine",
  "framework": "paceline",
  "training": {"micro_batch": 64, "dataset": {"name": "synthetic"}},
  "parallel": {"world_size": 2},
  "run": {"steps": 20}
})";

TEST(ExperimentRejectAll, nothing_about_the_good_file) { EXPECT_THAT(faults_in(good), SizeIs(0)); }

/// Texts that are no document.
struct BadText {
  const char* name;
  std::string text;
  const char* pointer;
  const char* message;
};
void PrintTo(const BadText& bad, std::ostream* stream) { *stream << bad.name; }

class ExperimentTextReject : public testing::TestWithParam<BadText> {};

TEST_P(ExperimentTextReject, names_place_and_reason) {
  const auto faults = faults_in(GetParam().text);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, "e.json");
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_THAT(faults[0].problem, HasSubstr(GetParam().message));
}

std::string nested(int levels) {
  std::string text = R"({"schema": "paceline/experiment/1", "model": )";
  for (int i = 0; i < levels; ++i) text += R"({"base": )";
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    texts, ExperimentTextReject,
    testing::Values(
        BadText{"empty", "", "", "not valid JSON: parse error at line 1, column 1"},
        BadText{"not_json", "model: vit_b_16", "", "not valid JSON: parse error at line 1"},
        BadText{"truncated", R"({"schema": "paceline/experiment/1", "model": "vit_b_16", "traini)",
                "/model", "missing closing quote"},
        BadText{"truncated_in_training", R"({"training": {"micro_batch": 64)",
                "/training/micro_batch", "unexpected end of input; expected '}'"},
        BadText{"python_true", R"({"parallel": {"overlap": True}})", "/parallel/overlap",
                "invalid literal"},
        BadText{"nan", R"({"training": {"learning_rate": NaN}})", "/training/learning_rate",
                "invalid literal"},
        BadText{"number_that_no_double_holds", R"({"training": {"learning_rate": 1e400}})",
                "/training/learning_rate",
                "number overflow parsing '1e400' (must lie within ±1.8e308)"},
        BadText{"invalid_utf8", "{\"cluster\": \"\xFF\"}", "/cluster", "ill-formed UTF-8"},
        BadText{"ten_thousand_deep", nested(10'000), "", "nested more than 64 levels deep"},
        BadText{"a_list", "[1, 2, 3]", "", "got a list of 3 (must be an object)"},
        BadText{"null", "null", "", "got null (must be an object)"},
        BadText{"key_given_twice",
                R"({"schema": "paceline/experiment/1", "model": "vit_b_16",
                    "training": {"micro_batch": 64, "epochs": 1, "micro_batch": 32}})",
                "/training/micro_batch", "this key is given twice (each key may stand once)"}),
    [](const auto& instance) { return instance.param.name; });

class ExperimentReject : public testing::TestWithParam<Damage> {};

TEST_P(ExperimentReject, names_place_and_reason) {
  const auto faults = faults_in(test::damaged(good, GetParam()));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, "e.json");
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_THAT(faults[0].problem, HasSubstr(GetParam().message));
}

const auto name_of_damage = [](const auto& instance) { return instance.param.name; };
constexpr std::nullopt_t gone = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    keys, ExperimentReject,
    testing::Values(
        Damage{"schema_left_out", "/schema", gone, "",
               "the key \"schema\" is missing (must be \"paceline/experiment/1\")"},
        Damage{"schema_of_a_report", "/schema", R"("paceline/report/1")", "/schema",
               "got \"paceline/report/1\" (must be \"paceline/experiment/1\")"},
        Damage{"schema_of_the_next_version", "/schema", R"("paceline/experiment/2")", "/schema",
               "(must be \"paceline/experiment/1\")"},
        Damage{"model_left_out", "/model", gone, "", "the key \"model\" is missing"},
        Damage{"training_left_out", "/training", gone, "", "the key \"training\" is missing"},
        Damage{"micro_batch_left_out", "/training/micro_batch", gone, "/training",
               "the key \"micro_batch\" is missing"},
        Damage{"misspelt_at_the_root", "/paralel", "{}", "/paralel",
               "unknown key, did you mean \"parallel\"?"},
        Damage{"misspelt_in_the_model", "/model/patchsize", "8", "/model/patchsize",
               "unknown key, did you mean \"patch_size\"?"},
        Damage{"misspelt_in_training", "/training/wieght_decay", "0", "/training/wieght_decay",
               "unknown key, did you mean \"weight_decay\"?"},
        Damage{"misspelt_in_the_data_set", "/training/dataset/sampels", "10",
               "/training/dataset/sampels", "unknown key, did you mean \"samples\"?"},
        Damage{"misspelt_in_parallel", "/parallel/worldsize", "2", "/parallel/worldsize",
               "unknown key, did you mean \"world_size\"?"},
        Damage{"misspelt_in_run", "/run/warmup_step", "2", "/run/warmup_step",
               "unknown key, did you mean \"warmup_steps\"?"},
        Damage{"unknown_everywhere", "/run/zeppelin", "2", "/run/zeppelin",
               "unknown key (allowed: steps, warmup_steps)"},
        Damage{"escaped_in_the_pointer", "/run/a~1b~0", "2", "/run/a~1b~0", "unknown key"}),
    name_of_damage);

TEST(ExperimentRejectAll, a_misspelt_base_of_a_model) {
  const auto faults =
      faults_in(test::damaged(good, {"", "/model", R"({"bse": "vit_b_16"})", "", ""}));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(), "e.json#/model/bse: unknown key, did you mean \"base\"?");
}

INSTANTIATE_TEST_SUITE_P(
    types, ExperimentReject,
    testing::Values(
        Damage{"model_as_number", "/model", "16", "/model",
               "got 16 (must be a model's name or an object)"},
        Damage{"base_as_number", "/model/base", "16", "/model/base",
               "got 16 (must be a model's name)"},
        Damage{"id_as_number", "/model/id", "16", "/model/id", "got 16 (must be a text in quotes)"},
        Damage{"cluster_as_list", "/cluster", "[]", "/cluster",
               "got a list of 0 (must be a cluster's id, a path, or an object with devices)"},
        Damage{"training_as_text", "/training", R"("fast")", "/training",
               "got \"fast\" (must be an object)"},
        Damage{"parallel_as_number", "/parallel", "2", "/parallel", "got 2 (must be an object)"},
        Damage{
            "micro_batch_as_text", "/training/micro_batch", R"("64")", "/training/micro_batch",
            "got \"64\" (must be a whole number, a list with one for each rank, or an object with"},
        Damage{"micro_batch_of_no_device", "/training/micro_batch", "{}", "/training/micro_batch",
               "or an object with one for each device type)"},
        Damage{"micro_batch_zero_of_a_device", "/training/micro_batch", R"({"t4": 0})",
               "/training/micro_batch/t4", "got 0 (must be >= 1)"},
        Damage{"inline_cluster_with_both", "/cluster", R"({"devices": ["t4"], "device": "t4"})",
               "/cluster", "needs either"},
        Damage{"more_ranks_than_inline_devices", "/cluster", R"({"devices": ["t4"]})",
               "/parallel/world_size", "the devices that \"cluster\" lists"},
        Damage{"version_of_our_own", "/framework", R"({"name": "paceline", "version": "2.11"})",
               "/framework/version", "has no meaning for paceline (leave it out)"},
        Damage{"unknown_version", "/framework", R"({"name": "pytorch_ddp", "version": "9.9"})",
               "/framework/version", "got \"9.9\" (must be one of 2.11, 1.12)"},
        Damage{"micro_batch_as_fraction", "/training/micro_batch", "64.5", "/training/micro_batch",
               "got 64.5 (must be a whole number)"},
        Damage{"micro_batch_with_a_text", "/training/micro_batch", R"([64, "32"])",
               "/training/micro_batch/1", "got \"32\" (must be a whole number)"},
        Damage{"learning_rate_as_text", "/training/learning_rate", R"("1e-3")",
               "/training/learning_rate", "got \"1e-3\" (must be a number)"},
        Damage{"seed_as_null", "/training/seed", "null", "/training/seed",
               "got null (must be a whole number)"},
        Damage{"betas_as_number", "/training/betas", "0.9", "/training/betas",
               "got 0.9 (must be a list)"},
        Damage{"betas_of_three", "/training/betas", "[0.9, 0.99, 0.999]", "/training/betas",
               "got a list of 3 (must hold 2)"},
        Damage{"overlap_as_text", "/parallel/overlap", R"("yes")", "/parallel/overlap",
               "got \"yes\" (must be true or false)"},
        Damage{"data_set_as_text", "/training/dataset", R"("cifar10")", "/training/dataset",
               "got \"cifar10\" (must be an object)"},
        Damage{"gelu_as_true", "/model/gelu", "true", "/model/gelu",
               "got true (must be one of exact, tanh)"}),
    name_of_damage);

INSTANTIATE_TEST_SUITE_P(
    values, ExperimentReject,
    testing::Values(
        Damage{"micro_batch_of_zero", "/training/micro_batch", "0", "/training/micro_batch",
               "got 0 (must be >= 1)"},
        Damage{"micro_batch_below_zero", "/training/micro_batch", "-64", "/training/micro_batch",
               "got -64 (must be >= 1)"},
        Damage{"micro_batch_of_zero_on_one_rank", "/training/micro_batch", "[64, 0]",
               "/training/micro_batch/1", "got 0 (must be >= 1)"},
        Damage{"micro_batch_that_is_absurd", "/training/micro_batch", "1000000000000",
               "/training/micro_batch", "got 1000000000000 (must be <= 16777216)"},
        Damage{"micro_batch_beyond_64_bits", "/training/micro_batch", "1e30",
               "/training/micro_batch", "got 1e+30 (must be <= 16777216)"},
        // 3 passes × 16,777,216 images × 35.1e9 FLOPs = 1.77e18.
        Damage{"micro_batch_of_too_many_flops", "/training/micro_batch", "16777216",
               "/training/micro_batch",
               "got 16777216 (one step of a rank then takes more than 1e18 FLOPs"},
        Damage{"no_micro_batches", "/training/micro_batch", "[]", "/training/micro_batch",
               "got a list of 0 (must hold 1 to 1048576)"},
        Damage{"three_micro_batches_for_two_ranks", "/training/micro_batch", "[64, 64, 64]",
               "/training/micro_batch",
               "got a list of 3 (must be one value, or one for each of 2 ranks)"},
        Damage{"accumulation_of_zero", "/training/accumulation_steps", "0",
               "/training/accumulation_steps", "got 0 (must be >= 1)"},
        // 12 blocks in a micro-step: 100,000 / 12 = 8,333.3.
        Damage{"accumulation_of_too_many_operations", "/training/accumulation_steps", "65536",
               "/training/accumulation_steps", "got 65536 (must be <= 8333 with 12 blocks"},
        Damage{"negative_learning_rate", "/training/learning_rate", "-0.001",
               "/training/learning_rate", "got -0.001 (must be >= 0.0)"},
        Damage{"beta_of_one", "/training/betas", "[0.9, 1]", "/training/betas/1",
               "got 1 (must be <= 0.999999999)"},
        Damage{"negative_beta", "/training/betas", "[-0.1, 0.9]", "/training/betas/0",
               "got -0.1 (must be >= 0.0)"},
        Damage{"epsilon_of_zero", "/training/epsilon", "0", "/training/epsilon",
               "got 0 (must be > 0.0)"},
        Damage{"negative_weight_decay", "/training/weight_decay", "-1", "/training/weight_decay",
               "got -1 (must be >= 0.0)"},
        Damage{"no_epochs", "/training/epochs", "0", "/training/epochs", "got 0 (must be >= 1)"},
        Damage{"negative_seed", "/training/seed", "-1", "/training/seed", "got -1 (must be >= 0)"},
        Damage{"bf16", "/training/precision", R"("bf16")", "/training/precision", "got \"bf16\""},
        Damage{"another_optimizer", "/training/optimizer", R"("lamb")", "/training/optimizer",
               "got \"lamb\" (must be one of adamw, sgd)"},
        Damage{"another_framework", "/framework", R"("tensorflow")", "/framework",
               "got \"tensorflow\" (must be one of paceline, pytorch_ddp)"},
        Damage{"no_ranks", "/parallel/world_size", "0", "/parallel/world_size",
               "got 0 (must be >= 1)"},
        Damage{"too_many_ranks", "/parallel/world_size", "1048577", "/parallel/world_size",
               "got 1048577 (must be <= 1048576)"},
        Damage{"bucket_of_zero", "/parallel/bucket_mib", "0", "/parallel/bucket_mib",
               "got 0 (must be >= 1)"},
        Damage{"no_steps", "/run/steps", "0", "/run/steps", "got 0 (must be >= 1)"},
        Damage{"negative_warmup", "/run/warmup_steps", "-1", "/run/warmup_steps",
               "got -1 (must be >= 0)"},
        Damage{"data_set_without_path", "/training/dataset/name", R"("flowers")",
               "/training/dataset",
               "data set \"flowers\" has no path (give \"path\": a folder with dataset.json"},
        Damage{"data_set_with_an_empty_path", "/training/dataset",
               R"({"name": "flowers", "path": ""})", "/training/dataset",
               "data set \"flowers\" has no path"},
        Damage{"data_set_without_name", "/training/dataset", "{}", "/training/dataset",
               "the key \"name\" is missing"},
        Damage{"no_samples", "/training/dataset/samples", "0", "/training/dataset/samples",
               "got 0 (must be >= 1)"}),
    name_of_damage);

INSTANTIATE_TEST_SUITE_P(
    models, ExperimentReject,
    testing::Values(
        Damage{"unknown", "/model", R"("vit_bas_patch16_224")", "/model",
               "got \"vit_bas_patch16_224\", which is no model of the zoo; did you mean "
               "\"vit_base_patch16_224\"? (`paceline list models` prints all)"},
        Damage{"in_capitals", "/model", R"("ViT_B_16")", "/model", "did you mean \"vit_b_16\"?"},
        Damage{"far_from_all", "/model", R"("resnet50_with_everything")", "/model",
               "which is no model of the zoo (`paceline list models` prints all)"},
        Damage{"without_name", "/model", R"("")", "/model", "which is no model of the zoo"},
        Damage{"unknown_base", "/model/base", R"("vit_base_patch16_225")", "/model/base",
               "did you mean \"vit_base_patch16_224\"?"},
        Damage{"heads_that_do_not_divide_the_width", "/model/heads", "7", "/model/heads",
               "got 7 (must divide width 768)"},
        Damage{"patch_that_does_not_divide_the_image", "/model/patch_size", "15",
               "/model/image_size", "got 224 (must be a multiple of patch_size 15)"},
        Damage{"patch_larger_than_the_image", "/model/patch_size", "448", "/model/image_size",
               "got 224 (must be a multiple of patch_size 448)"},
        Damage{"patch_of_zero", "/model/patch_size", "0", "/model/patch_size",
               "got 0 (must be >= 1)"},
        Damage{"no_blocks", "/model/depth", "0", "/model/depth", "got 0 (must be >= 1)"},
        Damage{"negative_width", "/model/width", "-768", "/model/width", "got -768 (must be >= 1)"},
        Damage{"absurd_width", "/model/width", "1000000000", "/model/width",
               "got 1000000000 (must be <= 1048576)"},
        // 65,536² patches: attention alone takes 4·2^64·768 FLOPs a block.
        Damage{"absurd_number_of_tokens", "/model",
               R"({"base": "vit_b_16", "image_size": 65536, "patch_size": 1})", "/model/image_size",
               "one image takes more than 1e18 FLOPs"},
        Damage{"gelu_of_another_form", "/model/gelu", R"("tahn")", "/model/gelu",
               "did you mean \"tanh\"? (must be one of exact, tanh)"},
        Damage{"norm_epsilon_of_zero", "/model/layer_norm_epsilon", "0",
               "/model/layer_norm_epsilon", "got 0 (must be > 0.0)"}),
    name_of_damage);

/// Keys of other tools, at the root and inside training; the answer has our key and the value.
INSTANTIATE_TEST_SUITE_P(
    foreign, ExperimentReject,
    testing::Values(
        Damage{"batch_size", "/batch_size", "64", "/batch_size",
               "unknown key; here it is \"training/micro_batch\": 64 (images per rank"},
        Damage{"batch_size_in_training", "/training/batch_size", "64", "/training/batch_size",
               "unknown key; here it is \"training/micro_batch\": 64 (images per rank"},
        Damage{"hugging_face_batch", "/per_device_train_batch_size", "16",
               "/per_device_train_batch_size", "here it is \"training/micro_batch\": 16"},
        Damage{"hugging_face_batch_in_training", "/training/per_device_train_batch_size", "16",
               "/training/per_device_train_batch_size", "here it is \"training/micro_batch\": 16"},
        Damage{"deepspeed_batch", "/train_micro_batch_size_per_gpu", "8",
               "/train_micro_batch_size_per_gpu", "here it is \"training/micro_batch\": 8"},
        Damage{"deepspeed_global_batch", "/train_batch_size", "512", "/train_batch_size",
               "the global batch follows here from \"training/micro_batch\" × ranks × "
               "\"training/accumulation_steps\" (choose them so that it is 512)"},
        Damage{"accumulation", "/gradient_accumulation_steps", "4", "/gradient_accumulation_steps",
               "here it is \"training/accumulation_steps\": 4"},
        Damage{"accumulation_in_training", "/training/gradient_accumulation_steps", "4",
               "/training/gradient_accumulation_steps",
               "here it is \"training/accumulation_steps\": 4"},
        Damage{"lightning_accumulation", "/training/accumulate_grad_batches", "4",
               "/training/accumulate_grad_batches",
               "here it is \"training/accumulation_steps\": 4"},
        Damage{"lr", "/lr", "0.001", "/lr", "here it is \"training/learning_rate\": 0.001"},
        Damage{"lr_in_training", "/training/lr", "0.001", "/training/lr",
               "here it is \"training/learning_rate\": 0.001"},
        Damage{"amp", "/amp", "true", "/amp",
               "here it is \"training/precision\": \"amp_fp16\" or \"amp_bf16\""},
        Damage{"amp_in_training", "/training/amp", "true", "/training/amp",
               "here it is \"training/precision\": \"amp_fp16\" or \"amp_bf16\""},
        Damage{"bf16_switch", "/training/bf16", R"({"enabled": true})", "/training/bf16",
               "here it is \"training/precision\": one of fp32"},
        Damage{"epochs", "/training/num_train_epochs", "3", "/training/num_train_epochs",
               "here it is \"training/epochs\": 3"},
        Damage{"ranks", "/num_gpus", "8", "/num_gpus",
               "here it is \"parallel/world_size\": 8 (ranks, one process each)"},
        Damage{"ranks_of_torchrun", "/parallel/nproc_per_node", "8", "/parallel/nproc_per_node",
               "here it is \"parallel/world_size\": 8 (ranks of all nodes together)"},
        Damage{"ddp_bucket", "/parallel/bucket_cap_mb", "25", "/parallel/bucket_cap_mb",
               "here it is \"parallel/bucket_mib\": 25"},
        // 5e8 elements × 4 bytes / 2^20 = 1907.35 MiB.
        Damage{"deepspeed_bucket", "/parallel/reduce_bucket_size", "5e8",
               "/parallel/reduce_bucket_size", "here it is \"parallel/bucket_mib\": 1907"},
        Damage{"deepspeed_overlap", "/parallel/overlap_comm", "true", "/parallel/overlap_comm",
               "here it is \"parallel/overlap\": true"},
        Damage{"steps", "/max_steps", "100", "/max_steps", "here it is \"run/steps\": 100"},
        Damage{"own_key_at_the_root", "/micro_batch", "64", "/micro_batch",
               "here it is \"training/micro_batch\": 64"},
        Damage{"own_key_in_another_section", "/training/world_size", "2", "/training/world_size",
               "here it is \"parallel/world_size\": 2"},
        Damage{"timm_image_size", "/model/img_size", "384", "/model/img_size",
               "here it is \"image_size\": 384"},
        Damage{"hugging_face_width", "/model/hidden_size", "1024", "/model/hidden_size",
               "here it is \"width\": 1024"},
        Damage{"timm_mlp_ratio", "/model/mlp_ratio", "4", "/model/mlp_ratio",
               "here it is \"mlp_hidden\": width × 4"},
        Damage{"model_name", "/arch", R"("vit_b_16")", "/arch",
               "here it is \"model\": \"vit_b_16\""},
        Damage{"data_folder", "/training/data_dir", R"("/data")", "/training/data_dir",
               "here it is \"training/dataset/path\": \"/data\""}),
    name_of_damage);

TEST(ExperimentFileReject, a_missing_file) {
  const test::TemporaryFolder folder;
  const auto faults = test::faults_of([&] { return read_experiment(folder / "absent.json"); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(),
            (folder / "absent.json").string() + ": no such file (give a path that exists)");
}

TEST(ExperimentFileReject, a_folder) {
  const test::TemporaryFolder folder;
  const auto faults = test::faults_of([&] { return read_experiment(folder.path()); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(),
            folder.path().string() + ": is not a regular file (give a file, not a folder)");
}

TEST(ExperimentRejectAll, one_file_with_five_faults_reports_all_five) {
  const auto faults = faults_in(R"({
    "schema": "paceline/experiment/1",
    "model": "vit_b_61",
    "training": {"micro_batch": 0, "learning_rate": "1e-3", "lr": 0.1},
    "parallel": {"worldsize": 2}
  })");
  std::vector<std::string> texts;
  for (const Fault& fault : faults) texts.push_back(fault.text());
  EXPECT_THAT(
      texts,
      UnorderedElementsAre(
          AllOf(HasSubstr("e.json#/model: got \"vit_b_61\""), HasSubstr("\"vit_b_16\"")),
          "e.json#/training/micro_batch: got 0 (must be >= 1)",
          "e.json#/training/learning_rate: got \"1e-3\" (must be a number)",
          "e.json#/training/lr: unknown key; here it is \"training/learning_rate\": 0.1 (constant "
          "over the run)",
          "e.json#/parallel/worldsize: unknown key, did you mean \"world_size\"?"));
}

TEST(ExperimentRejectAll, both_faults_of_an_impossible_model) {
  const auto faults =
      faults_in(test::damaged(good, {"", "/model", R"({"image_size": 30, "heads": 7})", "", ""}));
  std::vector<std::string> places;
  for (const Fault& fault : faults) places.push_back(fault.pointer);
  EXPECT_THAT(places, UnorderedElementsAre("/model/image_size", "/model/heads"));
}

TEST(ExperimentRejectAll, a_key_given_twice_does_not_hide_other_faults) {
  const auto faults = faults_in(R"({"schema": "paceline/experiment/1", "model": "vit_b_16",
    "model": "vit_b_16", "training": {"micro_batch": 0}})");
  std::vector<std::string> places;
  for (const Fault& fault : faults) places.push_back(fault.pointer);
  EXPECT_THAT(places, UnorderedElementsAre("/model", "/training/micro_batch"));
}

}  // namespace
}  // namespace paceline::models
