#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/report.hpp"
#include "tests/core/damaged_document.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/sample_documents.hpp"

namespace paceline::core {
namespace {

using test::Damage;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class ReportReject : public testing::TestWithParam<Damage> {};

TEST_P(ReportReject, names_place_and_reason) {
  const std::string text = test::damaged(report_text(test::full_report()), GetParam());
  const auto faults = test::faults_of([&] { return read_report_text(text, "r.json"); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].file, "r.json");
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_EQ(faults[0].problem, GetParam().message);
}

constexpr std::nullopt_t gone = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    damages, ReportReject,
    testing::Values(
        Damage{"no_schema", "/schema", gone, "",
               "the key \"schema\" is missing (must be \"paceline/report/1\")"},
        Damage{"schema_of_measurements", "/schema", R"("paceline/measurements/1")", "/schema",
               "got \"paceline/measurements/1\" (must be \"paceline/report/1\")"},
        Damage{"no_kind", "/kind", gone, "", "the key \"kind\" is missing (it is required)"},
        Damage{"wrong_kind", "/kind", R"("guessed")", "/kind",
               "got \"guessed\" (must be one of predicted, measured)"},
        Damage{"no_identity", "/identity", gone, "",
               "the key \"identity\" is missing (it is required)"},
        Damage{"hash_as_number", "/identity/program_hashes/1", "17", "/identity/program_hashes/1",
               "got 17 (must be a text in quotes)"},
        Damage{"unknown_key", "/imagesper_s", "1", "/imagesper_s",
               "unknown key, did you mean \"images_per_s\"?"},
        Damage{"no_ranks_in_the_world", "/world_size", "0", "/world_size", "got 0 (must be >= 1)"},
        Damage{"fits_as_text", "/fits", R"("yes")", "/fits", "got \"yes\" (must be true or false)"},
        Damage{"step_time_as_number", "/step_time_us", "5", "/step_time_us",
               "got 5 (must be an object)"},
        Damage{"negative_step_time", "/step_time_us/median", "-1", "/step_time_us/median",
               "got -1 (must be >= 0.0)"},
        Damage{"no_median", "/step_time_us/median", gone, "/step_time_us",
               "the key \"median\" is missing (it is required)"},
        Damage{"interval_of_three", "/step_time_us/interval_50", "[1, 2, 3]",
               "/step_time_us/interval_50", "got a list of 3 (must hold 2)"},
        Damage{"sample_that_is_null", "/step_time_us/samples/2", "null", "/step_time_us/samples/2",
               "got null (must be a number)"},
        Damage{"negative_mfu", "/mfu/dense_peak", "-0.5", "/mfu/dense_peak",
               "got -0.5 (must be >= 0.0)"},
        Damage{"half_a_byte", "/gradient_bytes_on_wire", "0.5", "/gradient_bytes_on_wire",
               "got 0.5 (must be a whole number)"},
        Damage{"no_rank_entries", "/ranks", "[]", "/ranks",
               "got a list of 0 (must hold 1 or more)"},
        Damage{"negative_rank", "/ranks/0/rank", "-1", "/ranks/0/rank", "got -1 (must be >= 0)"},
        Damage{"represents_nobody", "/ranks/0/represents", "0", "/ranks/0/represents",
               "got 0 (must be >= 1)"},
        Damage{"phase_left_out", "/ranks/0/phases_us/forward", gone, "/ranks/0/phases_us",
               "the key \"forward\" is missing (it is required)"},
        Damage{"phase_misspelt", "/ranks/0/phases_us/bakward", "1", "/ranks/0/phases_us/bakward",
               "unknown key, did you mean \"backward\"?"},
        Damage{"negative_phase", "/ranks/0/phases_us/forward", "-3", "/ranks/0/phases_us/forward",
               "got -3 (must be >= 0.0)"},
        Damage{"memory_without_total", "/ranks/0/peak_memory_bytes/total", gone,
               "/ranks/0/peak_memory_bytes",
               "got an object (must be an object with total and each category)"},
        Damage{"memory_category_left_out", "/ranks/0/peak_memory_bytes/context", gone,
               "/ranks/0/peak_memory_bytes", "the key \"context\" is missing (it is required)"},
        Damage{"negative_memory", "/ranks/0/peak_memory_bytes/total", "-1",
               "/ranks/0/peak_memory_bytes/total", "got -1 (must be >= 0)"},
        Damage{"negative_clock_uncertainty", "/ranks/0/clock_uncertainty_us", "-1",
               "/ranks/0/clock_uncertainty_us", "got -1 (must be >= 0.0)"},
        Damage{"collective_without_members", "/collectives/0/ranks", "0", "/collectives/0/ranks",
               "got 0 (must be >= 1)"},
        Damage{"operation_without_id", "/operations/0/id", gone, "/operations/0",
               "the key \"id\" is missing (it is required)"},
        Damage{"layer_below_minus_one", "/operations/0/layer", "-2", "/operations/0/layer",
               "got -2 (must be >= -1)"},
        Damage{"operation_time_without_spread", "/operations/0/time_us", "5",
               "/operations/0/time_us", "got 5 (must be an object)"},
        Damage{"counted_work_without_flops", "/counted_work/0/matmul/flops", gone,
               "/counted_work/0/matmul", "the key \"flops\" is missing (it is required)"},
        Damage{"accuracy_above_one", "/training/train_accuracy", "1.5", "/training/train_accuracy",
               "got 1.5 (must be <= 1.0)"},
        Damage{"reference_rate_of_zero", "/reference_rate/gflop_per_s", "0",
               "/reference_rate/gflop_per_s", "got 0 (must be > 0.0)"},
        Damage{"cause_outside_the_list", "/bottleneck/cause", R"("slow_devise")",
               "/bottleneck/cause",
               "got \"slow_devise\", did you mean \"slow_device\"? (must be one of compute, "
               "memory_bandwidth, host_launch, data_loading, storage, copy_to_gpu, "
               "intra_node_link, network, latency, slow_device, slow_link, slow_host, optimizer, "
               "memory_capacity, unexplained)"}),
    [](const auto& instance) { return instance.param.name; });

TEST(ReportRejectAll, every_fault_of_a_damaged_report_is_named) {
  std::string text = report_text(test::full_report());
  for (const Damage& damage :
       {Damage{"", "/kind", "1", "", ""}, Damage{"", "/world_size", "0", "", ""},
        Damage{"", "/step_time_us/p10", "-1", "", ""}, Damage{"", "/ranks/0/device", gone, "", ""},
        Damage{"", "/operations/0/layer", "0.5", "", ""},
        Damage{"", "/bottleneck/cause", "null", "", ""}, Damage{"", "/extra", "1", "", ""}}) {
    text = test::damaged(text, damage);
  }
  std::vector<std::string> places;
  for (const Fault& fault : test::faults_of([&] { return read_report_text(text, "r.json"); })) {
    places.push_back(fault.pointer);
  }
  EXPECT_THAT(places, UnorderedElementsAre("/kind", "/world_size", "/step_time_us/p10", "/ranks/0",
                                           "/operations/0/layer", "/bottleneck/cause", "/extra"));
}

TEST(ReportRejectAll, a_truncated_report_is_refused) {
  const std::string text = report_text(test::full_report());
  for (std::size_t length = 0; length < text.size() - 2; length += 97) {
    EXPECT_FALSE(
        test::faults_of([&] { return read_report_text(text.substr(0, length), "r"); }).empty())
        << length;
  }
}

}  // namespace
}  // namespace paceline::core
