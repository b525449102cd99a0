#include "core/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.hpp"
#include "core/json.hpp"
#include "tests/core/sample_documents.hpp"
#include "tests/core/temporary_folder.hpp"

namespace paceline::core {
namespace {

using testing::ElementsAre;

TEST(Report, writing_reading_and_writing_gives_the_same_text) {
  for (const Report& report : {test::full_report(), test::smallest_report()}) {
    const std::string text = report_text(report);
    EXPECT_EQ(report_text(read_report_text(text, "r.json")), text);
  }
}

TEST(Report, survives_a_file) {
  const test::TemporaryFolder folder;
  const std::string text = report_text(test::full_report());
  write_file_atomically(folder / "r.json", text);
  EXPECT_EQ(report_text(read_report(folder / "r.json")), text);
}

TEST(Report, reads_the_values_that_were_written) {
  const Report report = read_report_text(report_text(test::full_report()), "r.json");
  EXPECT_EQ(report.kind, ReportKind::measured);
  EXPECT_THAT(report.identity.program_hashes, ElementsAre("00000000000000aa", "00000000000000bb"));
  EXPECT_EQ(report.provenance.at("cpu"), "one \"quoted\" name");
  EXPECT_THAT(report.step_time_us.value().samples.value(), ElementsAre(30'000, 0.1, 1e-7));
  EXPECT_THAT(report.step_time_us.value().interval_90.value(), ElementsAre(27'000, 33'500));
  EXPECT_EQ(report.gradient_bytes_on_wire, Bytes(346'270'624));
  EXPECT_EQ(report.ranks.at(0).phases_us[TimelinePhase::straggler_wait], 1.0 / 3.0);
  EXPECT_EQ(report.ranks.at(0).peak_memory[MemoryCategory::activations], Bytes(4'000'000'001));
  EXPECT_EQ(report.ranks.at(0).peak_memory_total, Bytes(5'000'000'000));
  EXPECT_EQ(report.counted_work.at(0).at("matmul"), (CountedWork{1, Flops(2), Bytes(3), Bytes(4)}));
  EXPECT_EQ(report.bottleneck.value().cause, Cause::slow_device);
}

TEST(Report, leaves_out_what_is_not_known) {
  const Json json = Json::parse(report_text(test::smallest_report()));
  for (const char* key :
       {"step_time_us", "first_step_us", "images_per_s", "epoch_time_s", "gradient_bytes_on_wire",
        "reference_rate", "track_record", "training", "bottleneck"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
}

// These keys are stable and outside checks read them.
TEST(Report, has_the_stable_keys_with_every_phase_and_category) {
  const Json json = Json::parse(report_text(test::full_report()));
  EXPECT_EQ(json["schema"], "paceline/report/1");
  EXPECT_EQ(json["kind"], "measured");
  const Json& rank = json["ranks"][0];
  for (const char* key : {"forward", "backward", "optimizer", "exposed_communication",
                          "straggler_wait", "data_wait", "host_bound_idle"}) {
    EXPECT_TRUE(rank["phases_us"].contains(key)) << key;
  }
  for (const char* key : {"total", "parameters", "gradients", "optimizer_state", "activations",
                          "communication", "workspace", "context"}) {
    EXPECT_TRUE(rank["peak_memory_bytes"].contains(key)) << key;
  }
  EXPECT_TRUE(json["operations"][0]["time_us"].contains("median"));
  EXPECT_TRUE(json["collectives"][0].contains("busbw_gb_per_s"));
}

TEST(Report, schema_names_every_key_that_is_written) {
  const Json schema = Json::parse(report_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  const Json written = Json::parse(report_text(test::full_report()));
  for (const auto& [key, value] : written.items()) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
  }
  EXPECT_TRUE(
      schema["properties"]["ranks"]["items"]["properties"]["peak_memory_bytes"]["properties"]
          .contains("total"));
}

}  // namespace
}  // namespace paceline::core
