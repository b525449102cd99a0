#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "core/file.hpp"
#include "core/json.hpp"
#include "models/architecture.hpp"
#include "models/zoo.hpp"

namespace paceline::models {
namespace {

using core::Json;

Json golden(const std::string& name) {
  const auto path = std::filesystem::path(PACELINE_TEST_DIRECTORY) / "golden" / name;
  return Json::parse(core::read_file(path, std::size_t{1} << 20));
}

TEST(ParameterCount, equals_timm_for_every_model_and_alias_that_timm_has) {
  const Json counts = golden("timm_parameter_counts.json")["counts"];
  int compared = 0;
  for (const auto& [name, count] : counts.items()) {
    const ZooEntry* entry = find_in_zoo(name);
    if (entry == nullptr) continue;
    EXPECT_EQ(parameter_count(entry->architecture), count.get<std::int64_t>()) << name;
    ++compared;
  }
  EXPECT_EQ(compared, static_cast<int>(counts.size())) << "the zoo has all that timm was asked for";
}

TEST(ParameterCount, of_every_vit_that_carries_a_timm_name_is_in_the_golden_file) {
  const Json counts = golden("timm_parameter_counts.json")["counts"];
  for (const ZooEntry& entry : zoo()) {
    if (entry.source.find("timm") == std::string::npos) continue;
    EXPECT_TRUE(counts.contains(entry.architecture.id)) << entry.architecture.id;
  }
}

// As published with timm's and torchvision's weights; ViT-H with a head for 1,000 classes.
TEST(ParameterCount, equals_the_published_figures) {
  const std::map<std::string, std::int64_t> published{
      {"vit_tiny_patch16_224", 5'717'416},    {"vit_small_patch16_224", 22'050'664},
      {"vit_base_patch16_224", 86'567'656},   {"vit_base_patch32_224", 88'224'232},
      {"vit_large_patch16_224", 304'326'632}, {"vit_huge_patch14_224", 632'045'800}};
  for (const auto& [name, count] : published) {
    EXPECT_EQ(parameter_count(find_in_zoo(name)->architecture), count) << name;
  }
}

TEST(Shapes, equal_timm) {
  const Json models = golden("timm_parameter_counts.json")["models"];
  for (const auto& [name, timm] : models.items()) {
    const ZooEntry* entry = find_in_zoo(name);
    if (entry == nullptr) continue;
    const VitArchitecture& a = entry->architecture;
    EXPECT_EQ(a.image_size, timm["image_size"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.patch_size, timm["patch_size"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.channels, timm["channels"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.width, timm["embed_dim"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.depth, timm["depth"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.heads, timm["num_heads"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.mlp_hidden, timm["mlp_hidden"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.classes, timm["num_classes"].get<std::int64_t>()) << name;
    EXPECT_EQ(a.layer_norm_epsilon, timm["layer_norm_epsilon"].get<double>()) << name;
    EXPECT_EQ(timm["activation"], "gelu_erf") << name;
    EXPECT_EQ(a.gelu, core::GeluForm::exact) << name;
  }
}

class ParameterNames : public testing::TestWithParam<const char*> {};

TEST_P(ParameterNames, and_their_shapes_and_order_are_those_of_the_state_dict) {
  const Json document = golden(GetParam());
  const Json& model = document["model"];
  VitArchitecture architecture;
  architecture.image_size = model["image_size"].get<std::int64_t>();
  architecture.patch_size = model["patch_size"].get<std::int64_t>();
  architecture.channels = model["channels"].get<std::int64_t>();
  architecture.width = model["width"].get<std::int64_t>();
  architecture.depth = model["depth"].get<std::int64_t>();
  architecture.heads = model["heads"].get<std::int64_t>();
  architecture.mlp_hidden = model["mlp_hidden"].get<std::int64_t>();
  architecture.classes = model["classes"].get<std::int64_t>();

  std::vector<std::pair<std::string, std::vector<std::int64_t>>> expected;
  const std::string prefix = "parameters/";
  for (const Json& tensor : document["tensors"]) {
    const auto name = tensor["name"].get<std::string>();
    if (name.rfind(prefix, 0) != 0) continue;
    expected.emplace_back(name.substr(prefix.size()),
                          tensor["shape"].get<std::vector<std::int64_t>>());
  }
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> ours;
  for (const ParameterSpec& spec : parameters_of(architecture)) {
    ours.emplace_back(spec.name(), spec.shape);
  }
  EXPECT_FALSE(ours.empty());
  EXPECT_EQ(ours, expected);
}

INSTANTIATE_TEST_SUITE_P(goldens, ParameterNames,
                         testing::Values("tiny_erf.json", "odd_shapes.json"));

}  // namespace
}  // namespace paceline::models
