#include "runtime/app/doctor.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "runtime/app/commands.hpp"

namespace paceline::runtime {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;
using testing::AllOf;
using testing::HasSubstr;

/// A machine in a folder: programs, shared memory, devices.
class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() / ("paceline-doctor-" + std::to_string(::getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    for (const char* name : {"bin", "shm", "dev"}) fs::create_directories(folder_ / name);
    std::ofstream(folder_ / "bin" / "mpirun") << "#!/bin/sh\n";
    fs::permissions(folder_ / "bin" / "mpirun", fs::perms::owner_all);
    view_ = {.message_passing = "Open MPI v4.1.4",
             .program_path = {folder_ / "nowhere", folder_ / "bin"},
             .shared_memory = folder_ / "shm",
             .devices = folder_ / "dev",
             .cores = 2};
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Finding found(const std::string& what) const {
    for (const Finding& finding : examine(view_)) {
      if (finding.what == what) return finding;
    }
    throw std::out_of_range(what);
  }

  fs::path folder_;
  DoctorView view_;
};

TEST_F(Doctor, finds_library_and_launcher) {
  EXPECT_EQ(found("several ranks").state, State::found);
  EXPECT_EQ(found("several ranks").detail,
            "Open MPI v4.1.4, started by " + (folder_ / "bin" / "mpirun").string());
  EXPECT_EQ(found("CPU ranks").state, State::found);
  EXPECT_EQ(found("threads of a rank").state, State::found);
  EXPECT_EQ(found("shared memory").state, State::found);
}

TEST_F(Doctor, says_what_to_install_for_several_ranks) {
  fs::remove(folder_ / "bin" / "mpirun");
  EXPECT_EQ(found("several ranks").state, State::missing);
  EXPECT_THAT(found("several ranks").remedy,
              HasSubstr("apt-get install libopenmpi-dev openmpi-bin"));
  view_.message_passing = "none";
  EXPECT_EQ(found("several ranks").meaning, "train, calibrate and bench run as one rank only");
  EXPECT_THAT(found("several ranks").remedy, HasSubstr("and build again"));
}

TEST_F(Doctor, root_and_one_core_are_limits) {
  view_.cores = 1;
  EXPECT_EQ(found("several ranks").state, State::limited);
  EXPECT_THAT(found("several ranks").meaning, HasSubstr("take turns"));
  view_.is_root = true;
  EXPECT_EQ(found("several ranks").state, State::limited);
  EXPECT_THAT(found("several ranks").remedy, HasSubstr("scripts/mpirun.sh"));
}

TEST_F(Doctor, without_shared_memory_or_openmp_it_says_what_that_means) {
  view_.shared_memory = folder_ / "no_such_folder";
  EXPECT_EQ(found("shared memory").state, State::missing);
  EXPECT_THAT(found("shared memory").meaning, HasSubstr("several ranks are refused"));
  view_.has_openmp = false;
  EXPECT_EQ(found("threads of a rank").state, State::missing);
  EXPECT_EQ(found("threads of a rank").meaning, "--threads above 1 changes nothing");
}

TEST_F(Doctor, counts_the_gpus_that_it_cannot_use) {
  EXPECT_EQ(found("GPU ranks").detail,
            "no NVIDIA GPU is visible, and this build has no GPU kernels");
  for (const char* name : {"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"}) {
    std::ofstream(folder_ / "dev" / name) << "";
  }
  EXPECT_EQ(found("GPU ranks").detail, "2 NVIDIA GPUs visible, but this build has no GPU kernels");
  EXPECT_EQ(found("GPU ranks").state, State::missing);
}

TEST(FindingsText, has_a_line_for_each_and_what_it_means) {
  EXPECT_EQ(findings_text({{.what = "CPU ranks", .detail = "Eigen", .meaning = {}, .remedy = {}},
                           {.state = State::missing,
                            .what = "several ranks",
                            .detail = "none",
                            .meaning = "one rank only",
                            .remedy = "install"}}),
            "found    CPU ranks           Eigen\n"
            "missing  several ranks       none\n"
            "                             means: one rank only\n"
            "                             do: install\n");
}

TEST(RuntimeProgram, doctor_prints_this_machine) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_command({"doctor"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              AllOf(HasSubstr("usable core"), HasSubstr("reference product"),
                    HasSubstr("found    CPU ranks           Eigen 3"), HasSubstr("GPU ranks")));
}

}  // namespace
}  // namespace paceline::runtime
