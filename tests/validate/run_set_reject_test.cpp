#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "hand_made_reports.hpp"
#include "run_set_folder.hpp"
#include "validate/run_set.hpp"

namespace paceline::validate {
namespace {

using core::Report;
using testing::AllOf;
using testing::HasSubstr;

std::string fault_of_set(const std::filesystem::path& folder) {
  try {
    static_cast<void>(read_run_set(folder));
  } catch (const core::ConfigError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(RunSetReject, a_folder_that_is_none) {
  EXPECT_THAT(fault_of_set("/nowhere/runs"), HasSubstr("/nowhere/runs: is not a readable folder"));
}

TEST(RunSetReject, a_folder_without_a_pair) {
  RunSetFolder folder;
  folder.add("a.predicted.json", hand_made_prediction());
  EXPECT_THAT(fault_of_set(folder.path()), HasSubstr("holds no pair"));
}

TEST(RunSetReject, names_every_pair_that_does_not_fit_together) {
  RunSetFolder folder;
  Report other = hand_made_measurement();
  other.identity.experiment_hash = "another";
  for (const std::string name : {"a", "b"}) {
    folder.add(name + ".predicted.json", hand_made_prediction());
    folder.add(name + ".measured.1.json", other);
  }
  EXPECT_THAT(fault_of_set(folder.path()),
              AllOf(HasSubstr("a.measured.1.json#/identity/experiment_hash"),
                    HasSubstr("b.measured.1.json#/identity/experiment_hash")));
}

TEST(RunSetReject, names_a_file_that_is_no_report) {
  RunSetFolder folder;
  folder.add("a.predicted.json", hand_made_prediction());
  core::write_file_atomically(folder.path() / "a.measured.1.json", "{}");
  EXPECT_THAT(fault_of_set(folder.path()), HasSubstr("a.measured.1.json: the key \"schema\""));
}

}  // namespace
}  // namespace paceline::validate
