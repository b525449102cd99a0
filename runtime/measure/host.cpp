#include "runtime/measure/host.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/comm/communicator.hpp"
#include "runtime/kernels/library.hpp"

namespace paceline::runtime {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The value of "key: value" or "key value" in a file of such lines.
std::string value_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

core::Bytes kib_of(const std::string& path, const std::string& key) {
  const std::string text = value_of(path, key);
  return core::Bytes(text.empty() ? 0 : std::stoll(text) * 1024);
}

/// CPU time that the control group allows per wall time, or 0 without a limit.
double quota_cores() {
  std::istringstream v2(first_line("/sys/fs/cgroup/cpu.max"));
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  const std::string v1_quota = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  const std::string v1_period = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (v1_quota.empty() || v1_period.empty() || v1_quota.front() == '-') return 0;
  return std::stod(v1_quota) / std::stod(v1_period);
}

std::string wall_clock() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

std::int64_t within_quota(std::int64_t cores) {
  const double quota = quota_cores();
  return quota > 0 ? std::min(cores, static_cast<std::int64_t>(std::ceil(quota))) : cores;
}

std::int64_t usable_cores() {
  const auto allowed = static_cast<std::int64_t>(allowed_cores().size());
  return within_quota(allowed > 0 ? allowed : std::max(1U, std::thread::hardware_concurrency()));
}

core::Bytes usable_memory() {
  core::Bytes memory = kib_of("/proc/meminfo", "MemTotal");
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::string limit = first_line(path);
    if (limit.empty() || limit == "max") continue;
    memory = std::min(memory, core::Bytes(std::stoll(limit)));
  }
  return memory;
}

std::map<std::string, std::string> host_provenance() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  ::gethostname(name.data(), HOST_NAME_MAX);
  return {{"host", name.data()},
          {"cpu", value_of("/proc/cpuinfo", "model name")},
          {"cores", std::to_string(usable_cores())},
          {"kernel_library", kernels::library_text()},
          {"kernel_instruction_set", kernels::instruction_set_text()},
          {"message_passing", mpi_library()},
          {"compiler", "g++ " __VERSION__},
          {"wall_clock", wall_clock()}};
}

std::string boot_id() { return first_line("/proc/sys/kernel/random/boot_id"); }

namespace {
constexpr const char* own_status = "/proc/self/status";
}

ResidentRise::ResidentRise() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5";
  file.flush();
  resident_ = kib_of(own_status, "VmRSS");
  file_pages_ = kib_of(own_status, "RssFile");
}

core::Bytes ResidentRise::so_far() const {
  const core::Bytes more_code = kib_of(own_status, "RssFile") - file_pages_;
  return std::max(core::Bytes{}, kib_of(own_status, "VmHWM") - resident_ - more_code);
}

}  // namespace paceline::runtime
