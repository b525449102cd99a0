#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "core/file.hpp"
#include "program.hpp"

/// Every file of `bad_files` gives exit 2, exactly the faults that `bad_files/messages.txt` lists,
/// nothing on standard output and no file; every file of `good_files` is accepted.
namespace paceline::cli {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::filesystem::path& folder() {
  static const auto path = std::filesystem::path(PACELINE_TEST_DIRECTORY) / "cli";
  return path;
}

constexpr std::size_t most_bytes = 1 << 20;

struct BadFile {
  std::string name;
  std::string command;
  std::vector<std::string> faults;
};

void PrintTo(const BadFile& bad, std::ostream* out) { *out << bad.name; }

std::vector<BadFile> table() {
  std::vector<BadFile> cases;
  std::istringstream lines(core::read_file(folder() / "bad_files" / "messages.txt", most_bytes));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with("  ")) {
      cases.push_back({line, {}, {}});
    } else if (cases.back().command.empty()) {
      cases.back().command = line.substr(2);
    } else {
      cases.back().faults.push_back(line.substr(2));
    }
  }
  return cases;
}

/// Whether `text` is `pattern` with some text for each star.
bool matches(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t start = star; start <= text.size(); ++start) {
    if (matches(text.substr(start), rest)) return true;
  }
  return false;
}

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, gives_its_faults_and_writes_nothing) {
  const BadFile& bad = GetParam();
  const Workplace workplace;
  const auto source = folder() / "bad_files" / bad.name;
  if (std::filesystem::exists(source)) {
    workplace.write(bad.name, core::read_file(source, most_bytes));
  }
  workplace.write("cluster_of_cpus.json",
                  core::read_file(folder() / "good_files" / "cluster_of_cpus.json", most_bytes));
  std::vector<std::string> words = words_of(bad.command);
  std::replace(words.begin(), words.end(), std::string("FILE"), bad.name);
  const std::vector<std::string> before = workplace.files();

  const Ran ran = workplace.run(words);

  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(workplace.files(), before);
  std::vector<std::string> faults;
  std::istringstream lines(ran.err);
  for (std::string line; std::getline(lines, line);) faults.push_back(line);
  ASSERT_THAT(faults, SizeIs(bad.faults.size())) << ran.err;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const std::string& listed = bad.faults[i];
    const bool follows_name = listed.front() == '#' || listed.front() == ':';
    const std::string expected = (follows_name ? bad.name : "") + listed;
    EXPECT_TRUE(matches(faults[i], expected))
        << "got      " << faults[i] << "\nexpected " << expected;
  }
}

INSTANTIATE_TEST_SUITE_P(All, BadFiles, testing::ValuesIn(table()), [](const auto& given) {
  return std::filesystem::path(given.param.name).stem().string();
});

TEST(BadFilesTable, has_every_file_of_the_folder_once) {
  std::set<std::string> listed;
  for (const BadFile& bad : table()) EXPECT_TRUE(listed.insert(bad.name).second) << bad.name;
  for (const auto& file : std::filesystem::directory_iterator(folder() / "bad_files")) {
    if (file.path().extension() != ".json") continue;
    EXPECT_TRUE(listed.contains(file.path().filename())) << file.path();
  }
}

TEST(GoodFiles, are_accepted) {
  const Workplace workplace;
  std::vector<std::string> words{"check"};
  for (const auto& file : std::filesystem::directory_iterator(folder() / "good_files")) {
    if (file.path().extension() == ".json") words.push_back(file.path());
  }
  ASSERT_GT(words.size(), 1U);
  const Ran ran = workplace.run(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, IsEmpty());
}

}  // namespace
}  // namespace paceline::cli
