#include "runtime/app/doctor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <system_error>

#include "core/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/library.hpp"
#include "runtime/kernels/reference_product.hpp"
#include "runtime/measure/host.hpp"

namespace paceline::runtime {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr const char* mpi_packages =
    "on Debian and Ubuntu: apt-get install libopenmpi-dev "
    "openmpi-bin";

std::optional<fs::path> found_in(const std::vector<fs::path>& folders, const std::string& program) {
  for (const fs::path& folder : folders) {
    fs::path candidate = folder / program;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) return candidate;
  }
  return std::nullopt;
}

Finding several_ranks(const DoctorView& view) {
  Finding finding{
      .what = "several ranks", .detail = view.message_passing, .meaning = {}, .remedy = {}};
  if (view.message_passing == "none") {
    finding.state = State::missing;
    finding.detail = "this build has no message passing library";
    finding.meaning = "train, calibrate and bench run as one rank only";
    finding.remedy = std::string("install Open MPI (") + mpi_packages + ") and build again";
    return finding;
  }
  const auto launcher = found_in(view.program_path, "mpirun");
  if (!launcher) {
    finding.state = State::missing;
    finding.detail += ", but no mpirun in PATH";
    finding.meaning = "ranks can be started by srun only";
    finding.remedy = std::string("install the launcher (") + mpi_packages + ")";
    return finding;
  }
  finding.detail += ", started by " + launcher->string();
  if (view.is_root) {
    finding.state = State::limited;
    finding.meaning = "mpirun refuses to start ranks for root by itself";
    finding.remedy = "use scripts/mpirun.sh in its place, or `paceline run`";
  } else if (view.cores < 2) {
    finding.state = State::limited;
    finding.meaning = "with one core two ranks take turns: they run, but measure nothing useful";
    finding.remedy = "give the process two cores or more";
  }
  return finding;
}

Finding threads(const DoctorView& view) {
  if (view.has_openmp) {
    return {.what = "threads of a rank", .detail = "OpenMP", .meaning = {}, .remedy = {}};
  }
  return {.state = State::missing,
          .what = "threads of a rank",
          .detail = "this build has no OpenMP",
          .meaning = "--threads above 1 changes nothing",
          .remedy = "build with a compiler that has OpenMP (g++ does)"};
}

Finding shared_memory(const DoctorView& view) {
  constexpr std::uintmax_t enough = std::uintmax_t{64} << 20;
  Finding finding{.what = "shared memory", .detail = {}, .meaning = {}, .remedy = {}};
  std::error_code error;
  const fs::space_info space = fs::space(view.shared_memory, error);
  if (error || ::access(view.shared_memory.c_str(), W_OK) != 0) {
    finding.state = State::missing;
    finding.detail = view.shared_memory.string() + " is not writable";
    finding.meaning =
        "ranks of one host cannot watch each other: runs of several ranks are refused";
    finding.remedy = "mount a tmpfs there";
    return finding;
  }
  finding.detail =
      fmt::format("{}, {} MiB free", view.shared_memory.string(), space.available >> 20);
  if (space.available < enough) {
    finding.state = State::limited;
    finding.meaning = "messages between ranks of one host may fail or be slow";
    finding.remedy = "enlarge it to 64 MiB or more (docker run --shm-size=1g)";
  }
  return finding;
}

Finding gpus(const DoctorView& view) {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(view.devices, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_gpu = name.starts_with("nvidia") && name.size() > 6 &&
                        name.find_first_not_of("0123456789", 6) == std::string::npos;
    if (is_gpu) ++count;
  }
  return {.state = State::missing,
          .what = "GPU ranks",
          .detail = count == 0 ? "no NVIDIA GPU is visible, and this build has no GPU kernels"
                               : fmt::format("{} NVIDIA GPU{} visible, but this build has no GPU "
                                             "kernels",
                                             count, count == 1 ? "" : "s"),
          .meaning = "train, calibrate and bench run on CPU ranks",
          .remedy = "nothing to install; predictions for GPUs need none: paceline predict"};
}

}  // namespace

DoctorView view_of_this_machine() {
  DoctorView view;
  view.message_passing = mpi_library();
  view.cores = usable_cores();
#ifndef PACELINE_HAS_OPENMP
  view.has_openmp = false;
#endif
  view.is_root = ::geteuid() == 0;
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nobody sets it
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) view.program_path.push_back(folder);
  return view;
}

std::vector<Finding> examine(const DoctorView& view) {
  return {{.what = "CPU ranks",
           .detail = kernels::library_text() + ", " + kernels::instruction_set_text() + ", fp32",
           .meaning = {},
           .remedy = {}},
          threads(view),
          several_ranks(view),
          shared_memory(view),
          gpus(view)};
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* word = "found";
    if (finding.state == State::limited) word = "limited";
    if (finding.state == State::missing) word = "missing";
    text += fmt::format("{:<9}{:<20}{}\n", word, finding.what, finding.detail);
    if (!finding.meaning.empty()) text += fmt::format("{:<29}means: {}\n", "", finding.meaning);
    if (!finding.remedy.empty()) text += fmt::format("{:<29}do: {}\n", "", finding.remedy);
  }
  return text;
}

int doctor_command(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) {
    if (arguments.front() != "--help" && arguments.front() != "-h") {
      throw core::UsageError("doctor takes no arguments, got \"" + arguments.front() + "\"");
    }
    std::cout << "usage: paceline-rt doctor\n\nSays what this machine and this build can do, what "
                 "is missing, what that means,\nand what to install.\n";
    return 0;
  }
  ReferenceProduct reference;
  constexpr int repeats = 20;
  reference.run(repeats);
  const double rate = ReferenceProduct::gflop_per_s(repeats, reference.run(repeats));
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  const auto host = host_provenance();
  std::cout << fmt::format(
      "{}: {}, {} usable core{}, {:.1f} GiB; reference product {:.1f} GFLOP/s (one thread, "
      "fp32)\npaceline-rt {}, {}\n\n",
      host.at("host"), host.at("cpu"), usable_cores(), usable_cores() == 1 ? "" : "s",
      static_cast<double>(usable_memory().value()) / gib, rate, PACELINE_VERSION,
      host.at("compiler"));
  std::cout << findings_text(examine(view_of_this_machine()));
  return 0;
}

}  // namespace paceline::runtime
