#include "hardware_profiles/host_cpu.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "core/error.hpp"

namespace paceline::hardware_profiles {
namespace {

/// CPU time per wall time that the control group allows, or 0 without a limit.
double quota_cores() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
  std::ifstream v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double microseconds = 0;
  if (v1_quota >> microseconds && v1_period >> period && microseconds > 0 && period > 0) {
    return microseconds / period;
  }
  return 0;
}

}  // namespace

double memory_gib_of_host() {
  std::ifstream memory("/proc/meminfo");
  std::string key;
  double kib = 0;
  while (memory >> key >> kib && key != "MemTotal:") memory.ignore(1024, '\n');
  if (key != "MemTotal:" || kib <= 0) {
    throw core::RunError("/proc/meminfo does not tell this machine's memory (is /proc mounted?)");
  }
  constexpr double kib_of_a_gib = 1 << 20;
  return kib / kib_of_a_gib;
}

std::int64_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::int64_t cores = 0;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
  if (cores == 0) cores = std::max(1U, std::thread::hardware_concurrency());
  const double quota = quota_cores();
  if (quota > 0) cores = std::min(cores, static_cast<std::int64_t>(std::ceil(quota)));
  return std::max<std::int64_t>(cores, 1);
}

double measured_copy_gb_per_s() {
  constexpr std::size_t bytes = std::size_t{32} << 20;
  constexpr std::size_t copies = 15;
  constexpr std::size_t warm_up = 3;
  using Clock = std::chrono::steady_clock;
  std::array<std::vector<char>, 2> own{std::vector<char>(bytes, 1), std::vector<char>(bytes, 2)};
  std::array<std::vector<char>, 2> received{std::vector<char>(bytes), std::vector<char>(bytes)};
  std::vector<double> seconds;
  std::barrier both(2);
  const auto copy = [&](std::size_t self) {
    for (std::size_t i = 0; i < warm_up + copies; ++i) {
      both.arrive_and_wait();
      const auto start = Clock::now();
      std::memcpy(received[self].data(), own[1 - self].data(), bytes);
      both.arrive_and_wait();
      if (self == 0 && i >= warm_up) {
        seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
      }
    }
  };
  std::thread other(copy, 1);
  copy(0);
  other.join();
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return static_cast<double>(bytes) / *middle / 1e9;
}

}  // namespace paceline::hardware_profiles
