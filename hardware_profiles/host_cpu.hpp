#pragma once

#include <cstdint>
#include <string>

#include "hardware_profiles/topology_text.hpp"

/// The machine that this process runs on. The build takes hwloc where it finds it
/// (`host_cpu_hwloc.cpp`), else /proc (`host_cpu_proc.cpp`).
namespace paceline::hardware_profiles {

/// Packages, physical cores and memory; `memory_gib` is always there.
/// Throws `core::RunError` where the machine does not tell.
[[nodiscard]] HostCpu this_host();

/// What the kernel states (MemTotal), 2^30 bytes. Throws `core::RunError` where /proc is missing.
[[nodiscard]] double memory_gib_of_host();

/// "hwloc 2.9" or "/proc/cpuinfo": what `this_host` asks.
[[nodiscard]] std::string host_reader();

/// Cores that this process may use at once: its affinity mask, and the CPU time that its control
/// group allows.
[[nodiscard]] std::int64_t usable_cores();

/// Rate at which two threads, each on a core of its own, copy from each other's memory at once;
/// 1e9 bytes/s of each. Median of several copies of 32 MiB; takes about a second.
[[nodiscard]] double measured_copy_gb_per_s();

}  // namespace paceline::hardware_profiles
