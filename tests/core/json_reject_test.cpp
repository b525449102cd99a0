#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ostream>
#include <string>

#include "core/json.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<Fault> faults_in(std::string_view text) {
  Faults faults;
  static_cast<void>(parse_json(text, Cursor("f.json", faults)));
  return faults.list();
}

struct BadText {
  const char* name;
  std::string text;
  const char* pointer;
  const char* message;
};
void PrintTo(const BadText& bad, std::ostream* stream) { *stream << bad.name; }

class JsonReject : public testing::TestWithParam<BadText> {};

TEST_P(JsonReject, names_place_and_reason) {
  const auto faults = faults_in(GetParam().text);
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, "f.json");
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_THAT(faults[0].problem, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    texts, JsonReject,
    testing::Values(BadText{"empty", "", "",
                            "line 1, column 1: syntax error while parsing value - unexpected end"},
                    BadText{"only_a_comment", "// nothing\n", "", "unexpected end of input"},
                    BadText{"truncated_object", R"({"a": {"b": 1)", "/a/b", "expected '}'"},
                    BadText{"truncated_list", R"({"a": [[1], [2, 3)", "/a/1/2", "expected ']'"},
                    BadText{"truncated_text", R"({"a": "never)", "/a", "missing closing quote"},
                    BadText{"comment_without_end", "/* {}", "", "missing closing '*/'"},
                    BadText{"text_after_the_end", R"({"a": 1} x)", "", "expected end of input"},
                    BadText{"two_values", "{} {}", "", "expected end of input"},
                    BadText{"trailing_comma", R"({"a": 1,})", "/a", "expected string literal"},
                    BadText{"single_quotes", R"({'a': 1})", "", "expected string literal"},
                    BadText{"missing_comma", R"({"a": 1 "b": 2})", "/a", "line 1, column 11"},
                    BadText{"second_line", "{\n\"a\": ?}", "/a", "line 2, column 6"},
                    BadText{"leading_zero", R"({"a": 0123})", "/a", "unexpected number literal"},
                    BadText{"not_a_number", R"({"a": NaN})", "/a", "invalid literal"},
                    BadText{"infinity", R"({"a": -Infinity})", "/a", "invalid number"},
                    BadText{"number_beyond_doubles", R"({"a": [0, 1e400]})", "/a/1",
                            "number overflow parsing '1e400' (must lie within ±1.8e308)"},
                    BadText{"invalid_utf8", "{\"a\": \"\xC3\x28\"}", "/a", "ill-formed UTF-8 byte"},
                    BadText{"overlong_utf8", "{\"a\": \"\xC0\xAF\"}", "/a",
                            "ill-formed UTF-8 byte"},
                    BadText{"half_a_surrogate", R"({"a": "\ud800"})", "/a", "surrogate"},
                    BadText{"utf16", std::string("\xFF\xFE{\0}\0", 6), "", "invalid literal"},
                    BadText{"raw_control_character", "{\"a\": \"\x01\"}", "/a", "must be escaped"},
                    BadText{"nul_byte", std::string("{\"a\0\": 1}", 9), "", "must be escaped"}),
    [](const auto& instance) { return instance.param.name; });

TEST(JsonDuplicateKeys, are_faults_where_they_stand) {
  const auto faults = faults_in(R"({"x": 1, "a": [{"b": 1}, {"b": 1, "c": 2, "b": 3}], "x": 4})");
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[0].text(), "f.json#/a/1/b: this key is given twice (each key may stand once)");
  EXPECT_EQ(faults[1].text(), "f.json#/x: this key is given twice (each key may stand once)");
}

TEST(JsonDuplicateKeys, are_located_under_keys_that_need_escapes) {
  const auto faults = faults_in(R"({"": {"a/b": 1, "a/b": 2}})");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, "//a~1b");
}

TEST(JsonDuplicateKeys, may_repeat_in_different_objects) {
  EXPECT_THAT(faults_in(R"([{"a": 1}, {"a": {"a": 1}}])"), SizeIs(0));
}

TEST(JsonDepth, ten_thousand_levels_are_refused_at_once) {
  std::string objects;
  for (int i = 0; i < 10'000; ++i) objects += "{\"a\":";
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& text : {std::string(10'000, '['), objects}) {
    const auto faults = faults_in(text);
    ASSERT_THAT(faults, SizeIs(1));
    EXPECT_EQ(faults[0].text(), "f.json: nested more than 64 levels deep (the limit)");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(JsonDepth, one_level_beyond_the_limit_is_refused) {
  const std::size_t levels = max_json_depth + 1;
  EXPECT_THAT(faults_in(std::string(levels, '[') + std::string(levels, ']')), SizeIs(1));
}

// nlohmann quotes all that it has read of a text that does not end.
TEST(JsonMessages, stay_short_for_a_long_text) {
  const auto faults = faults_in("{\"a\": \"" + std::string(1'000'000, 'x'));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_THAT(faults[0].problem, HasSubstr("missing closing quote"));
  EXPECT_LT(faults[0].problem.size(), 300U);
}

TEST(JsonMessages, are_utf8_whatever_the_file_holds) {
  for (const Fault& fault : faults_in("{\"a\": \"\xFF\xFE\xC3\"}")) {
    EXPECT_NO_THROW(static_cast<void>(Json(fault.text()).dump()));  // throws on ill-formed UTF-8
  }
}

TEST(JsonFile, that_is_missing_is_a_fault) {
  const test::TemporaryFolder folder;
  Faults faults;
  const auto path = folder / "absent.json";
  EXPECT_TRUE(read_json_file(path, Cursor(path.string(), faults)).is_null());
  ASSERT_THAT(faults.list(), SizeIs(1));
  EXPECT_EQ(faults.list()[0].text(), path.string() + ": no such file (give a path that exists)");
}

TEST(Faults, throw_all_together) {
  Faults faults;
  EXPECT_NO_THROW(faults.throw_if_any());
  faults.add({"f", "/a", "one"});
  faults.add({"f", "/b", "two"});
  try {
    faults.throw_if_any();
    FAIL() << "nothing thrown";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "f#/a: one\nf#/b: two");
  }
}

}  // namespace
}  // namespace paceline::core
