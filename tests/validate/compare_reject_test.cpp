#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "hand_made_reports.hpp"
#include "validate/compare.hpp"

namespace paceline::validate {
namespace {

using core::Report;
using testing::AllOf;
using testing::HasSubstr;

std::string fault_of_compare(const Report& predicted, const Report& measured) {
  try {
    static_cast<void>(compare(predicted, measured, "p.json", "m.json"));
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(CompareReject, different_experiments) {
  Report measured = hand_made_measurement();
  measured.identity.experiment_hash = "another";
  EXPECT_EQ(fault_of_compare(hand_made_prediction(), measured),
            "m.json#/identity/experiment_hash: got another but p.json has experiment (both must be "
            "of the same experiment)");
}

TEST(CompareReject, different_programs) {
  Report measured = hand_made_measurement();
  measured.identity.program_hashes[1] = "another";
  EXPECT_EQ(
      fault_of_compare(hand_made_prediction(), measured),
      "m.json#/identity/program_hashes: got program0 another but p.json has program0 program1 "
      "(both must be of the same Program)");
}

TEST(CompareReject, a_report_that_cannot_be_trusted_by_its_name) {
  Report predicted = hand_made_prediction();
  predicted.ranks.pop_back();
  Report measured = hand_made_measurement();
  measured.collectives[0].ranks = 1;
  EXPECT_THAT(fault_of_compare(predicted, measured),
              AllOf(HasSubstr("p.json: ranks stand for 1 ranks"),
                    HasSubstr("m.json: collective bucket0 has a bandwidth measured by one rank")));
}

TEST(CompareReject, reports_of_one_kind_that_cannot_be_trusted) {
  Report broken = hand_made_measurement();
  broken.ranks[0].phases_us[core::TimelinePhase::other] = 10;
  try {
    static_cast<void>(compare_alike(broken, hand_made_measurement(), "a.json", "b.json"));
    FAIL();
  } catch (const core::ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "a.json: phases of rank 0 sum to 135.0 us (must be the step of 125.0 us "
                 "within 1 %)");
  }
}

TEST(CompareReject, a_prediction_without_a_time) {
  Report predicted = hand_made_prediction();
  predicted.step_time_us.reset();
  EXPECT_EQ(fault_of_compare(predicted, hand_made_measurement()),
            "p.json#/step_time_us: is missing (a run that does not fit has no time)");
}

}  // namespace
}  // namespace paceline::validate
