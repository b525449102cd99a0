#include "core/fields.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/bicycle_fields.hpp"

namespace paceline::core {
namespace {

using test::Bicycle;
using test::bicycle_fields;
using testing::ElementsAre;

constexpr const char* smallest = R"({"schema": "paceline/bicycle/1", "wheels": 2, "mass_kg": 8.5})";

constexpr const char* everything = R"({
  "schema": "paceline/bicycle/1",
  "wheels": 3,
  "mass_kg": 21.5,
  "name": "tricycle",
  "electric": true,
  "form": "tanh",
  "teeth": [
    11,
    13
  ],
  "prices": {
    "here": 900.0,
    "there": 0.0
  },
  "lamp": {
    "lumen": 250.0
  },
  "log": 9223372036854775807,
  "load": {
    "compute": 0.75,
    "communication": -0.25
  },
  "gears": 8
}
)";

TEST(FieldTable, keeps_the_defaults_of_what_is_left_out) {
  const auto bicycle = from_text(smallest, bicycle_fields(), "b.json");
  EXPECT_EQ(bicycle.wheels, 2);
  EXPECT_EQ(bicycle.mass_kg, 8.5);
  EXPECT_EQ(bicycle.name, "nameless");
  EXPECT_THAT(bicycle.teeth, ElementsAre(11));
  EXPECT_FALSE(bicycle.lamp.has_value());
}

TEST(FieldTable, a_whole_number_may_be_written_with_a_point_or_an_exponent) {
  for (const char* three : {"3", "3.0", "3e0", "0.3e1"}) {
    const std::string text =
        R"({"schema": "paceline/bicycle/1", "mass_kg": 9, "wheels": )" + std::string(three) + "}";
    EXPECT_EQ(from_text(text, bicycle_fields(), "b.json").wheels, 3) << three;
  }
}

TEST(FieldTable, reads_each_type) {
  const auto bicycle = from_text(everything, bicycle_fields(), "b.json");
  EXPECT_EQ(bicycle.wheels, 3);
  EXPECT_TRUE(bicycle.electric);
  EXPECT_EQ(bicycle.form, GeluForm::tanh);
  EXPECT_THAT(bicycle.teeth, ElementsAre(11, 13));
  EXPECT_EQ(bicycle.prices.at("here"), 900.0);
  EXPECT_EQ(bicycle.lamp.value().lumen, 250.0);
  EXPECT_EQ(bicycle.log, Bytes(INT64_MAX));
  EXPECT_EQ(bicycle.load[Stream::communication], -0.25);
  EXPECT_EQ(bicycle.gears, 8);
}

TEST(FieldTable, writes_what_it_read) {
  const auto bicycle = from_text(everything, bicycle_fields(), "b.json");
  EXPECT_EQ(to_text(bicycle_fields().write(bicycle)), everything);
}

TEST(FieldTable, does_not_write_an_optional_that_is_empty) {
  EXPECT_FALSE(bicycle_fields().write(Bicycle{}).contains("lamp"));
}

TEST(FieldTable, takes_whole_numbers_where_real_ones_are_meant) {
  const auto bicycle = from_text(R"({"schema": "paceline/bicycle/1", "wheels": 2, "mass_kg": 8})",
                                 bicycle_fields(), "b.json");
  EXPECT_EQ(bicycle.mass_kg, 8.0);
}

TEST(FieldTable, leaves_keys_to_its_caller_that_the_caller_reads) {
  Faults faults;
  Bicycle bicycle;
  bicycle_fields().read(
      Json{{"schema", "paceline/bicycle/1"}, {"wheels", 2}, {"mass_kg", 9}, {"base", "gravel"}},
      Cursor("b.json", faults), bicycle, {"base"});
  EXPECT_TRUE(faults.empty());
}

TEST(FieldTable, schema_says_what_reading_accepts) {
  const Json schema = bicycle_fields().schema();
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_THAT(schema["required"].get<std::vector<std::string>>(),
              ElementsAre("schema", "wheels", "mass_kg"));
  const Json& properties = schema["properties"];
  EXPECT_EQ(properties["schema"], (Json{{"const", "paceline/bicycle/1"}}));
  EXPECT_EQ(properties["wheels"], (Json{{"type", "integer"},
                                        {"minimum", 1},
                                        {"maximum", 4},
                                        {"description", "that touch the road"}}));
  EXPECT_EQ(properties["mass_kg"]["exclusiveMinimum"], 0.0);
  EXPECT_EQ(properties["form"]["enum"], (Json{"exact", "tanh"}));
  EXPECT_EQ(properties["teeth"]["minItems"], 1);
  EXPECT_EQ(properties["teeth"]["maxItems"], 3);
  EXPECT_EQ(properties["prices"]["additionalProperties"]["minimum"], 0.0);
  EXPECT_EQ(properties["lamp"]["properties"]["lumen"]["maximum"], 500.0);
  EXPECT_EQ(properties["load"]["required"], (Json{"compute", "communication"}));
  EXPECT_EQ(properties["gears"]["maximum"], 2'147'483'647);
}

TEST(FieldTable, schema_has_each_key_that_is_written) {
  const Json schema = bicycle_fields().schema();
  Bicycle bicycle;
  bicycle.lamp.emplace();
  const Json written = bicycle_fields().write(bicycle);
  for (const auto& [key, value] : written.items()) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  }
}

}  // namespace
}  // namespace paceline::core
