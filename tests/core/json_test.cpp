#include "core/json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace paceline::core {
namespace {

/// What `text` holds; a fault fails the test.
Json parsed(std::string_view text) {
  Faults faults;
  Json json = parse_json(text, Cursor("f.json", faults));
  for (const Fault& fault : faults.list()) ADD_FAILURE() << fault.text();
  return json;
}

TEST(JsonReader, reads_both_kinds_of_comments) {
  const Json json =
      parsed("// first\n{\"a\": /* in between */ 1, // after\n \"b\": \"// no comment\"}");
  EXPECT_EQ(json["a"], 1);
  EXPECT_EQ(json["b"], "// no comment");
}

TEST(JsonReader, keeps_the_order_of_keys) {
  const Json json = parsed(R"({"zebra": 1, "ant": 2, "mole": 3})");
  EXPECT_EQ(json.dump(), R"({"zebra":1,"ant":2,"mole":3})");
}

TEST(JsonReader, skips_a_byte_order_mark) { EXPECT_EQ(parsed("\xEF\xBB\xBF{\"a\": 1}")["a"], 1); }

TEST(JsonReader, keeps_integers_to_the_ends_of_64_bits) {
  EXPECT_EQ(parsed("[9223372036854775807]")[0].get<std::int64_t>(), INT64_MAX);
  EXPECT_EQ(parsed("[-9223372036854775808]")[0].get<std::int64_t>(), INT64_MIN);
  EXPECT_EQ(parsed("[18446744073709551615]")[0].get<std::uint64_t>(), UINT64_MAX);
}

TEST(JsonReader, reads_a_value_without_an_object_around_it) {
  EXPECT_EQ(parsed("null"), nullptr);
  EXPECT_EQ(parsed(" 3.5 "), 3.5);
}

TEST(JsonReader, nests_as_deep_as_the_limit) {
  const std::string deepest = std::string(max_json_depth, '[') + std::string(max_json_depth, ']');
  EXPECT_TRUE(parsed(deepest).is_array());
}

// With a lookup for each key, 200,000 keys would take 2e10 comparisons: minutes.
TEST(JsonReader, takes_a_time_in_proportion_to_the_number_of_keys) {
  std::string text = "{\"k\": 0";
  for (int i = 0; i < 200'000; ++i) text += ", \"k" + std::to_string(i) + "\": 0";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(parsed(text + "}").size(), 200'001U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST(JsonPointer, escapes_tilde_and_slash) {
  Faults faults;
  const Cursor root("f.json", faults);
  EXPECT_EQ(root.pointer(), "");
  EXPECT_EQ(root.at("a/b").at("m~n").at(3).pointer(), "/a~1b/m~0n/3");
  // RFC 6901: "~1" as a key is "~01", and an empty key is a pointer of its own.
  EXPECT_EQ(root.at("~1").pointer(), "/~01");
  EXPECT_EQ(root.at("").pointer(), "/");
}

TEST(JsonPointer, finds_the_value_that_it_names) {
  const Json json = parsed(R"({"a/b": {"m~n": [0, 0, 0, 42]}})");
  Faults faults;
  const Cursor cursor = Cursor("f.json", faults).at("a/b").at("m~n").at(3);
  EXPECT_EQ(json.at(Json::json_pointer(cursor.pointer())), 42);
}

TEST(Fault, reads_as_file_pointer_and_problem) {
  Faults faults;
  const Cursor root("f.json", faults);
  root.at("a").at(0).fault("got 3 (must be 4)");
  root.fault("is empty");
  EXPECT_EQ(faults.list()[0].text(), "f.json#/a/0: got 3 (must be 4)");
  EXPECT_EQ(faults.list()[1].text(), "f.json: is empty");
  EXPECT_EQ((Fault{"", "", "no place"}.text()), "no place");
}

TEST(ConfigError, carries_each_fault_on_a_line_of_its_own) {
  const ConfigError error({{"a.json", "/x", "one"}, {"b.json", "", "two"}});
  EXPECT_STREQ(error.what(), "a.json#/x: one\nb.json: two");
  EXPECT_EQ(error.faults().size(), 2U);
}

TEST(Nearest, finds_a_slip_of_the_hand) {
  const std::vector<std::string> keys{"model", "training", "parallel", "run"};
  EXPECT_EQ(nearest("modle", keys), "model");         // two neighbours exchanged
  EXPECT_EQ(nearest("trainig", keys), "training");    // one left out
  EXPECT_EQ(nearest("paralllel", keys), "parallel");  // one too many
  EXPECT_EQ(nearest("run", keys), "run");
}

TEST(Nearest, takes_the_closest_and_of_equals_the_first) {
  EXPECT_EQ(nearest("vit_b_17", {"vit_b_32", "vit_b_16", "vit_b_14"}), "vit_b_16");
}

// One exchange of neighbours is nearer than two changes.
TEST(Nearest, counts_two_exchanged_neighbours_as_one_slip) {
  EXPECT_EQ(nearest("vit_b_61", {"vit_b_8", "vit_b_32", "vit_b_16"}), "vit_b_16");
}

TEST(Nearest, does_not_mind_case) {
  EXPECT_EQ(nearest("RTX3090", {"rtx3070", "rtx3090"}), "rtx3090");
  EXPECT_EQ(nearest("VIT_BASE_PATCH16_224", {"vit_base_patch16_224"}), "vit_base_patch16_224");
}

TEST(Nearest, stays_silent_where_nothing_is_near) {
  EXPECT_EQ(nearest("wheels", {"model", "training"}), "");
  EXPECT_EQ(nearest("model", {}), "");
  EXPECT_EQ(nearest("", {"id", "lr"}), "");
}

// A word of which every letter must change is another word.
TEST(Nearest, does_not_replace_a_whole_word) {
  EXPECT_EQ(nearest("lr", {"id"}), "");
  EXPECT_EQ(nearest("x", {"id", "y"}), "");
  EXPECT_EQ(nearest("ld", {"id"}), "id");
}

TEST(Nearest, answers_at_once_for_a_word_that_never_ends) {
  EXPECT_EQ(nearest(std::string(10'000'000, 'x'), {"model"}), "");
}

TEST(Shown, renders_values_for_messages) {
  EXPECT_EQ(shown(Json(3)), "3");
  EXPECT_EQ(shown(Json(-8.5)), "-8.5");
  EXPECT_EQ(shown(Json("64")), "\"64\"");
  EXPECT_EQ(shown(Json(nullptr)), "null");
  EXPECT_EQ(shown(Json(true)), "true");
  EXPECT_EQ(shown(parsed("[1, 2, 3]")), "a list of 3");
  EXPECT_EQ(shown(parsed("{}")), "an object");
}

TEST(Shown, cuts_a_long_text_between_characters) {
  // A quote and 28 two-byte letters are 57 bytes, which leaves 3 for the ellipsis.
  std::string letters;
  std::string kept = "\"";
  for (int i = 0; i < 50; ++i) letters += "é";
  for (int i = 0; i < 28; ++i) kept += "é";
  EXPECT_EQ(shown(Json(letters)), kept + "…");
  // One byte before them shifts the cut into a letter: that letter goes too.
  EXPECT_EQ(shown(Json("a" + letters)).size(), 1U + 1U + 27U * 2U + 3U);
}

TEST(ToText, gives_numbers_that_read_back_as_the_same) {
  const Json json{{"third", 1.0 / 3.0}, {"tiny", 5e-324}, {"big", INT64_MAX}};
  EXPECT_EQ(parsed(to_text(json)), json);
  EXPECT_EQ(to_text(Json{{"a", 1}}), "{\n  \"a\": 1\n}\n");
}

}  // namespace
}  // namespace paceline::core
