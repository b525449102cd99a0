#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::runtime {

/// One thing that a run may need.
struct Finding {
  enum class State : std::uint8_t { found, limited, missing };
  State state = State::found;
  std::string what;
  std::string detail;  // what was found
  /// Of what is limited or missing: what cannot be done, and what to do about it.
  std::string meaning;
  std::string remedy;
};

/// What the checks look at, so that tests can plant a machine of their own.
struct DoctorView {
  std::string message_passing;  // library of the build, "none" without
  std::vector<std::filesystem::path> program_path;
  std::filesystem::path shared_memory = "/dev/shm";
  std::filesystem::path devices = "/dev";
  std::int64_t cores = 1;
  bool has_openmp = true;
  bool is_root = false;
};

/// This machine and this build.
[[nodiscard]] DoctorView view_of_this_machine();

/// CPU ranks, threads, several ranks, shared memory, GPUs.
[[nodiscard]] std::vector<Finding> examine(const DoctorView& view);

/// A line for each finding, and below it what it means and what to do.
[[nodiscard]] std::string findings_text(const std::vector<Finding>& findings);

/// `paceline-rt doctor`; the exit code.
int doctor_command(const std::vector<std::string>& arguments);

}  // namespace paceline::runtime
