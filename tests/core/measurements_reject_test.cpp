#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/measurements.hpp"
#include "tests/core/damaged_document.hpp"
#include "tests/core/faults_of.hpp"
#include "tests/core/sample_documents.hpp"

namespace paceline::core {
namespace {

using test::Damage;
using testing::SizeIs;

class MeasurementsReject : public testing::TestWithParam<Damage> {};

TEST_P(MeasurementsReject, names_place_and_reason) {
  const std::string text = test::damaged(measurements_text(test::full_measurements()), GetParam());
  const auto faults = test::faults_of([&] { return read_measurements_text(text, "m.json"); });
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_EQ(faults[0].pointer, GetParam().pointer);
  EXPECT_EQ(faults[0].problem, GetParam().message);
}

constexpr std::nullopt_t gone = std::nullopt;

INSTANTIATE_TEST_SUITE_P(
    damages, MeasurementsReject,
    testing::Values(
        Damage{"schema_of_a_report", "/schema", R"("paceline/report/1")", "/schema",
               "got \"paceline/report/1\" (must be \"paceline/measurements/1\")"},
        Damage{"no_threads", "/threads_per_rank", "0", "/threads_per_rank", "got 0 (must be >= 1)"},
        Damage{"no_cores", "/cores", gone, "", "the key \"cores\" is missing (it is required)"},
        Damage{"no_levels", "/levels", "[]", "/levels", "got a list of 0 (must hold 1 or more)"},
        Damage{"no_active_ranks", "/levels/0/active_ranks", "0", "/levels/0/active_ranks",
               "got 0 (must be >= 1)"},
        Damage{"reference_rate_of_zero", "/levels/0/reference_gflop_per_s", "0",
               "/levels/0/reference_gflop_per_s", "got 0 (must be > 0.0)"},
        Damage{"no_kernels", "/levels/0/kernels", "[]", "/levels/0/kernels",
               "got a list of 0 (must hold 1 or more)"},
        Damage{"negative_time", "/levels/0/kernels/0/time_us", "-1", "/levels/0/kernels/0/time_us",
               "got -1 (must be >= 0.0)"},
        Damage{"feature_as_text", "/levels/0/kernels/0/features/mnk", R"("many")",
               "/levels/0/kernels/0/features/mnk", "got \"many\" (must be a number)"},
        Damage{"kernel_without_class", "/levels/0/kernels/0/class", gone, "/levels/0/kernels/0",
               "the key \"class\" is missing (it is required)"},
        Damage{"no_samples", "/levels/0/kernels/0/samples", "0", "/levels/0/kernels/0/samples",
               "got 0 (must be >= 1)"},
        Damage{"exchange_that_takes_no_time", "/exchanges/0/time_us", "0", "/exchanges/0/time_us",
               "got 0 (must be > 0.0)"},
        Damage{"exchange_of_half_a_byte", "/exchanges/0/bytes", "0.5", "/exchanges/0/bytes",
               "got 0.5 (must be a whole number)"},
        Damage{"collective_of_one", "/collectives/0/ranks", "1", "/collectives/0/ranks",
               "got 1 (must be >= 2)"},
        Damage{"misspelt", "/reductons", "[]", "/reductons",
               "unknown key, did you mean \"reductions\"?"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace paceline::core
