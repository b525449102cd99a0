#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "synthetic_measurements.hpp"
#include "validate/profile_fit.hpp"

namespace paceline::validate {
namespace {

using core::Measurements;
using testing::AllOf;
using testing::HasSubstr;

std::string fault_of_fit(const Measurements& measurements) {
  try {
    static_cast<void>(fit_cpu_device(measurements, "planted"));
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(ProfileFitReject, names_a_class_with_fewer_rows_than_features) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[1].kernels.resize(1);
  EXPECT_EQ(fault_of_fit(measurements),
            "measurements#/levels/1/kernels: class \"gelu\" has 1 row (its 2 features need as "
            "many: measure more shapes with paceline-rt calibrate)");
}

TEST(ProfileFitReject, levels_must_have_the_same_classes) {
  Measurements measurements = synthetic_measurements();
  for (auto& row : measurements.levels[1].kernels) row.kernel_class = "add";
  EXPECT_THAT(fault_of_fit(measurements),
              AllOf(HasSubstr("#/levels/1/kernels: class \"gelu\" is missing"),
                    HasSubstr("#/levels/1/kernels: class \"add\" is not in the first level")));
}

TEST(ProfileFitReject, a_level_may_stand_once) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[1].active_ranks = 1;
  EXPECT_EQ(fault_of_fit(measurements),
            "measurements#/levels/1/active_ranks: got 1 (a level before it has the same)");
}

TEST(ProfileFitReject, a_class_has_the_same_features_in_all_rows) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[0].kernels[3].features["rows"] = 4.0;
  EXPECT_EQ(
      fault_of_fit(measurements),
      "measurements#/levels/0/kernels/3/features: class \"gelu\" has other features here than "
      "in its first row (all rows of a class need the same)");
}

TEST(ProfileFitReject, a_kernel_takes_time) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[0].kernels[3].time_us = 0.0;
  EXPECT_EQ(
      fault_of_fit(measurements),
      "measurements#/levels/0/kernels/3/time_us: got 0.0 (must be > 0: the fit is to relative "
      "error)");
}

TEST(ProfileFitReject, a_row_without_any_feature_gives_no_time) {
  Measurements measurements = synthetic_measurements();
  for (auto& level : measurements.levels) {
    for (auto& feature : level.kernels[3].features) feature.second = 0.0;
  }
  EXPECT_THAT(fault_of_fit(measurements), HasSubstr("class \"gelu\" has a row whose features"));
}

TEST(ProfileFitReject, exchanges_need_reductions_in_two_sizes) {
  Measurements measurements = synthetic_measurements();
  measurements.reductions.resize(1);
  EXPECT_EQ(fault_of_fit(measurements),
            "measurements#/reductions: got 1 sizes of reductions (must be 2 or more where ranks "
            "exchange data: time per call and time per byte)");
}

TEST(ProfileFitReject, there_is_at_least_one_level) {
  EXPECT_THAT(fault_of_fit(Measurements{}), HasSubstr("#/levels: got none"));
}

TEST(ProfileFitReject, several_ranks_need_exchanges) {
  Measurements measurements = synthetic_measurements();
  measurements.exchanges.clear();
  try {
    static_cast<void>(make_cpu_cluster(measurements));
    FAIL() << "no fault";
  } catch (const core::ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "measurements#/exchanges: got none (must hold 1 or more where 2 ranks compute at "
                 "once)");
  }
}

TEST(ProfileFitReject, all_faults_come_at_once) {
  Measurements measurements = synthetic_measurements();
  measurements.levels[0].kernels[3].time_us = 0.0;
  measurements.levels[1].kernels.resize(1);
  measurements.reductions.resize(1);
  EXPECT_THAT(fault_of_fit(measurements),
              AllOf(HasSubstr("time_us"), HasSubstr("1 row"), HasSubstr("reductions")));
}

}  // namespace
}  // namespace paceline::validate
