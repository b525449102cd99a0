#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <thread>

#include "hardware_profiles/host_cpu.hpp"

/// Compiled with each reader of the host: hwloc and /proc keep the same contract.
namespace paceline::hardware_profiles {
namespace {

TEST(ThisHost, has_cores_that_threads_run_on) {
  const HostCpu host = this_host();
  EXPECT_GE(host.sockets, 1);
  EXPECT_GE(host.cores_per_socket, 1);
  // Physical cores are never more than logical ones.
  EXPECT_LE(host.sockets * host.cores_per_socket,
            static_cast<std::int64_t>(std::thread::hardware_concurrency()));
  EXPECT_FALSE(host.model.empty());
}

TEST(ThisHost, has_the_memory_that_the_kernel_states) {
  std::ifstream file("/proc/meminfo");
  std::string key;
  double kib = 0;
  file >> key >> kib;
  ASSERT_EQ(key, "MemTotal:");
  constexpr double kib_of_a_gib = 1 << 20;
  EXPECT_DOUBLE_EQ(this_host().memory_gib.value(), kib / kib_of_a_gib);
}

TEST(ThisHost, says_who_told) { EXPECT_FALSE(host_reader().empty()); }

}  // namespace
}  // namespace paceline::hardware_profiles
