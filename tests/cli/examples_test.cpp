#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/verb.hpp"
#include "planted_files.hpp"

/// Every example of every help text runs as it is printed.
namespace paceline::cli {
namespace {

using testing::HasSubstr;

TEST(Examples, of_all_help_texts_run) {
  ExampleWorkplace workplace;
  workplace.stand_in_for_runtime(0);
  const std::string path = workplace.path("bin").string() + ":/usr/bin:/bin";
  for (const Verb& verb : verbs()) {
    ASSERT_FALSE(verb.examples.empty()) << verb.name;
    for (const std::string& example : verb.examples) {
      std::vector<std::string> words = words_of(example);
      ASSERT_EQ(words.at(0), "paceline");
      ASSERT_EQ(words.at(1), verb.name);
      words.erase(words.begin());
      const Ran ran = workplace.run(words, {{"PATH", path}});
      EXPECT_EQ(ran.code, 0) << example << "\n" << ran.err;
      EXPECT_FALSE(ran.out.empty()) << example;
    }
  }
}

TEST(Examples, every_help_text_shows_one) {
  const Workplace workplace;
  for (const Verb& verb : verbs()) {
    const Ran ran = workplace.run({"help", verb.name});
    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, HasSubstr(verb.examples.front()));
    EXPECT_EQ(workplace.run({verb.name, "--help"}).out, ran.out);
  }
}

}  // namespace
}  // namespace paceline::cli
