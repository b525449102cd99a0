#include "models/zoo.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace paceline::models {
namespace {

using testing::IsEmpty;

TEST(Zoo, has_the_models_of_the_study_and_of_the_examples) {
  for (const char* name : {"vit_base_patch16_224", "vit_b_16", "google/vit-base-patch16-224",
                           "vit_large_patch16_384", "vit_digits", "vit_cifar10", "vit_cifar100"}) {
    EXPECT_NE(find_in_zoo(name), nullptr) << name;
  }
}

TEST(Zoo, every_id_and_every_alias_finds_its_entry) {
  for (const ZooEntry& entry : zoo()) {
    EXPECT_EQ(find_in_zoo(entry.architecture.id), &entry) << entry.architecture.id;
    for (const std::string& alias : entry.aliases) EXPECT_EQ(find_in_zoo(alias), &entry) << alias;
  }
}

TEST(Zoo, no_name_stands_for_two_models) {
  std::set<std::string> names;
  for (const ZooEntry& entry : zoo()) {
    EXPECT_TRUE(names.insert(entry.architecture.id).second) << entry.architecture.id;
    for (const std::string& alias : entry.aliases) {
      EXPECT_TRUE(names.insert(alias).second) << alias;
    }
  }
}

TEST(Zoo, every_model_is_possible_and_has_a_source) {
  for (const ZooEntry& entry : zoo()) {
    EXPECT_THAT(faults_of(entry.architecture), IsEmpty()) << entry.architecture.id;
    EXPECT_FALSE(entry.source.empty()) << entry.architecture.id;
  }
}

TEST(Zoo, finds_nothing_under_another_name) {
  EXPECT_EQ(find_in_zoo("vit_base_patch16_225"), nullptr);
  EXPECT_EQ(find_in_zoo(""), nullptr);
  EXPECT_EQ(find_in_zoo("VIT_B_16"), nullptr);
}

}  // namespace
}  // namespace paceline::models
