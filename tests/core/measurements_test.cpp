#include "core/measurements.hpp"

#include <gtest/gtest.h>

#include "core/file.hpp"
#include "core/json.hpp"
#include "tests/core/sample_documents.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

TEST(Measurements, writing_reading_and_writing_gives_the_same_text) {
  const std::string text = measurements_text(test::full_measurements());
  EXPECT_EQ(measurements_text(read_measurements_text(text, "m.json")), text);
}

TEST(Measurements, survive_a_file) {
  const test::TemporaryFolder folder;
  const std::string text = measurements_text(test::full_measurements());
  write_file_atomically(folder / "m.json", text);
  EXPECT_EQ(measurements_text(read_measurements(folder / "m.json")), text);
}

TEST(Measurements, read_the_values_that_were_written) {
  const Measurements read =
      read_measurements_text(measurements_text(test::full_measurements()), "m.json");
  EXPECT_EQ(read.memory, Bytes(16'000'000'000));
  EXPECT_EQ(read.levels.at(0).active_ranks, 2);
  EXPECT_EQ(read.levels.at(0).kernels.at(0).features.at("mnk"), 262'144);
  EXPECT_EQ(read.exchanges.at(0).bytes, Bytes(4'096));
  EXPECT_EQ(read.collectives.at(0).algorithm, "ring");
}

TEST(Measurements, of_one_rank_have_no_exchanges) {
  Measurements measurements = test::full_measurements();
  measurements.exchanges.clear();
  measurements.reductions.clear();
  measurements.collectives.clear();
  const std::string text = measurements_text(measurements);
  EXPECT_EQ(measurements_text(read_measurements_text(text, "m.json")), text);
}

TEST(Measurements, schema_names_every_key_that_is_written) {
  const Json schema = Json::parse(measurements_schema());
  const Json written = Json::parse(measurements_text(test::full_measurements()));
  for (const auto& [key, value] : written.items()) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  }
}

}  // namespace
}  // namespace paceline::core
