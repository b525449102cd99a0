#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "core/fields.hpp"
#include "tests/core/bicycle_fields.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using test::bicycle_fields;
using testing::HasSubstr;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::vector<Fault> faults_in(const std::string& text) {
  return test::faults_of([&] { return from_text(text, bicycle_fields(), "b.json"); });
}

/// A bicycle that is good but for `members`.
std::string bicycle_with(const std::string& members) {
  return R"({"schema": "paceline/bicycle/1", )" + members + "}";
}

struct BadMember {
  const char* name;
  const char* members;
  const char* pointer;
  const char* message;
};
void PrintTo(const BadMember& bad, std::ostream* stream) { *stream << bad.name; }

class FieldReject : public testing::TestWithParam<BadMember> {};

TEST_P(FieldReject, names_place_what_was_read_and_what_is_allowed) {
  const auto faults = faults_in(bicycle_with(GetParam().members));
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_EQ(faults[0].problem, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    members, FieldReject,
    testing::Values(
        BadMember{"missing", R"("mass_kg": 9)", "",
                  "the key \"wheels\" is missing (it is required)"},
        BadMember{"misspelt", R"("wheels": 2, "mass_kg": 9, "elektric": true)", "/elektric",
                  "unknown key, did you mean \"electric\"?"},
        BadMember{"misspelt_in_capitals", R"("wheels": 2, "mass_kg": 9, "LAMP": {})", "/LAMP",
                  "unknown key, did you mean \"lamp\"?"},
        BadMember{"unknown", R"("wheels": 2, "mass_kg": 9, "saddlebag": 1)", "/saddlebag",
                  "unknown key (allowed: schema, wheels, mass_kg, name, electric, form, teeth, "
                  "prices, lamp, log, load, gears)"},
        BadMember{"misspelt_inside",
                  R"("wheels": 2, "mass_kg": 9, "lamp": {"lumen": 9, "lumenn": 9})", "/lamp/lumenn",
                  "unknown key, did you mean \"lumen\"?"},
        BadMember{"key_that_needs_escapes", R"("wheels": 2, "mass_kg": 9, "a/b~c": 1)", "/a~1b~0c",
                  "unknown key (allowed: schema, wheels, mass_kg, name, electric, form, teeth, "
                  "prices, lamp, log, load, gears)"},
        BadMember{"missing_inside", R"("wheels": 2, "mass_kg": 9, "lamp": {})", "/lamp",
                  "the key \"lumen\" is missing (it is required)"},
        BadMember{"foreign_with_converted_value", R"("wheels": 2, "mass_kg": 9, "mass_g": 9500)",
                  "/mass_g", "unknown key; here it is \"mass_kg\": 9.5"},
        BadMember{"text_for_a_number", R"("wheels": 2, "mass_kg": "9")", "/mass_kg",
                  "got \"9\" (must be a number)"},
        BadMember{"null_for_a_number", R"("wheels": 2, "mass_kg": null)", "/mass_kg",
                  "got null (must be a number)"},
        BadMember{"fraction_for_a_whole_number", R"("wheels": 2.5, "mass_kg": 9)", "/wheels",
                  "got 2.5 (must be a whole number)"},
        BadMember{"text_for_a_whole_number", R"("wheels": "2", "mass_kg": 9)", "/wheels",
                  "got \"2\" (must be a whole number)"},
        BadMember{"number_for_a_text", R"("wheels": 2, "mass_kg": 9, "name": 7)", "/name",
                  "got 7 (must be a text in quotes)"},
        BadMember{"number_for_true", R"("wheels": 2, "mass_kg": 9, "electric": 1)", "/electric",
                  "got 1 (must be true or false)"},
        BadMember{"wrong_word", R"("wheels": 2, "mass_kg": 9, "form": "tahn")", "/form",
                  "got \"tahn\", did you mean \"tanh\"? (must be one of exact, tanh)"},
        BadMember{"far_word", R"("wheels": 2, "mass_kg": 9, "form": "logistic")", "/form",
                  "got \"logistic\" (must be one of exact, tanh)"},
        BadMember{"number_for_a_word", R"("wheels": 2, "mass_kg": 9, "form": 1)", "/form",
                  "got 1 (must be one of exact, tanh)"},
        BadMember{"number_for_a_list", R"("wheels": 2, "mass_kg": 9, "teeth": 11)", "/teeth",
                  "got 11 (must be a list)"},
        BadMember{"empty_list", R"("wheels": 2, "mass_kg": 9, "teeth": [])", "/teeth",
                  "got a list of 0 (must hold 1 to 3)"},
        BadMember{"long_list", R"("wheels": 2, "mass_kg": 9, "teeth": [9, 9, 9, 9])", "/teeth",
                  "got a list of 4 (must hold 1 to 3)"},
        BadMember{"item_out_of_range", R"("wheels": 2, "mass_kg": 9, "teeth": [11, 8])", "/teeth/1",
                  "got 8 (must be >= 9)"},
        BadMember{"list_for_a_dictionary", R"("wheels": 2, "mass_kg": 9, "prices": [])", "/prices",
                  "got a list of 0 (must be an object)"},
        BadMember{"value_in_a_dictionary", R"("wheels": 2, "mass_kg": 9, "prices": {"a": -1})",
                  "/prices/a", "got -1 (must be >= 0.0)"},
        BadMember{"list_for_a_record", R"("wheels": 2, "mass_kg": 9, "lamp": [1])", "/lamp",
                  "got a list of 1 (must be an object)"},
        BadMember{"word_left_out", R"("wheels": 2, "mass_kg": 9, "load": {"compute": 1})", "/load",
                  "the key \"communication\" is missing (it is required)"},
        BadMember{
            "word_too_many",
            R"("wheels": 2, "mass_kg": 9, "load": {"compute": 1, "communication": 1, "copy": 1})",
            "/load/copy", "unknown key (allowed: compute, communication)"},
        BadMember{"below_the_range", R"("wheels": 0, "mass_kg": 9)", "/wheels",
                  "got 0 (must be >= 1)"},
        BadMember{"above_the_range", R"("wheels": 5, "mass_kg": 9)", "/wheels",
                  "got 5 (must be <= 4)"},
        BadMember{"on_an_excluded_end", R"("wheels": 2, "mass_kg": 0)", "/mass_kg",
                  "got 0 (must be > 0.0)"},
        BadMember{"beyond_a_real_range", R"("wheels": 2, "mass_kg": 9, "lamp": {"lumen": 500.5})",
                  "/lamp/lumen", "got 500.5 (must be <= 500.0)"},
        BadMember{"beyond_int", R"("wheels": 2, "mass_kg": 9, "gears": 2147483648)", "/gears",
                  "got 2147483648 (must be <= 2147483647)"},
        BadMember{"beyond_int64", R"("wheels": 2, "mass_kg": 9, "log": 9223372036854775808)",
                  "/log", "got 9223372036854775808 (must be <= 9223372036854775807)"},
        BadMember{"beyond_uint64", R"("wheels": 2, "mass_kg": 9, "log": 100000000000000000000)",
                  "/log", "got 1e+20 (must be <= 9223372036854775807)"},
        BadMember{"below_int64", R"("wheels": 2, "mass_kg": 9, "log": -100000000000000000000)",
                  "/log", "got -1e+20 (must be >= 0)"},
        BadMember{"negative_bytes", R"("wheels": 2, "mass_kg": 9, "log": -1)", "/log",
                  "got -1 (must be >= 0)"},
        BadMember{"check_across_fields", R"("wheels": 2, "mass_kg": 9, "electric": true)",
                  "/mass_kg", "an electric one weighs 15 or more"}),
    [](const auto& instance) { return instance.param.name; });

TEST(FieldTableReject, the_schema_of_another_kind) {
  const auto faults = faults_in(R"({"schema": "paceline/car/1", "wheels": 2, "mass_kg": 9})");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(),
            "b.json#/schema: got \"paceline/car/1\" (must be \"paceline/bicycle/1\")");
}

TEST(FieldTableReject, a_schema_left_out_says_what_to_write) {
  const auto faults = faults_in(R"({"wheels": 2, "mass_kg": 9})");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(),
            "b.json: the key \"schema\" is missing (must be \"paceline/bicycle/1\")");
}

TEST(FieldTableReject, a_misspelt_schema) {
  const auto faults = faults_in(R"({"shema": "paceline/bicycle/1", "wheels": 2, "mass_kg": 9})");
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_EQ(faults[1].text(), "b.json#/shema: unknown key, did you mean \"schema\"?");
}

TEST(FieldTableReject, a_list_where_the_object_should_be) {
  const auto faults = faults_in("[1, 2]");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(), "b.json: got a list of 2 (must be an object)");
}

TEST(FieldTableReject, null_where_the_object_should_be) {
  const auto faults = faults_in("null");
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].text(), "b.json: got null (must be an object)");
}

TEST(FieldTableReject, all_faults_of_a_file_at_once) {
  const auto faults = faults_in(bicycle_with(
      R"("wheels": 9, "wheels": -9, "name": 1, "teeth": [8, "x"], "lamp": {"lumen": 0}, "bell": 1)"));
  std::vector<std::string> places;
  for (const Fault& fault : faults) places.push_back(fault.pointer);
  // The key given twice is one fault, its last value another; "mass_kg" is missing at the root.
  EXPECT_THAT(places, UnorderedElementsAre("/wheels", "/wheels", "/name", "/teeth/0", "/teeth/1",
                                           "/lamp/lumen", "/bell", ""));
}

// A condition on several fields has nothing to say while one of them could not be read.
TEST(FieldTableReject, checks_run_only_on_fields_that_could_be_read) {
  EXPECT_THAT(faults_in(bicycle_with(R"("wheels": 2, "mass_kg": -1, "electric": true)")),
              SizeIs(1));
}

TEST(FieldTableReject, a_key_that_its_caller_reads_is_suggested_too) {
  Faults faults;
  test::Bicycle bicycle;
  bicycle_fields().read(
      Json{{"schema", "paceline/bicycle/1"}, {"wheels", 2}, {"mass_kg", 9}, {"bse", "gravel"}},
      Cursor("b.json", faults), bicycle, {"base"});
  ASSERT_THAT(faults.list(), SizeIs(1));
  EXPECT_EQ(faults.list()[0].problem, "unknown key, did you mean \"base\"?");
}

TEST(FieldTableReject, a_file_is_named_by_its_path) {
  const test::TemporaryFolder folder;
  const auto faults =
      test::faults_of([&] { return from_file(folder / "absent.json", bicycle_fields()); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, (folder / "absent.json").string());
  EXPECT_THAT(faults[0].problem, HasSubstr("no such file"));
}

}  // namespace
}  // namespace paceline::core
