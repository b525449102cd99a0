#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/vocabulary.hpp"
#include "models/program.hpp"
#include "sim/simulation/timeline.hpp"

/// Training steps of GPU ranks: a host thread that issues operations ahead of the device, a compute
/// stream and a communication stream.
namespace paceline::sim {

inline constexpr std::uint32_t no_gpu_collective = UINT32_MAX;

struct GpuOperation {
  core::Time host_issue{};  // what the host takes to issue it
  core::Time duration{};    // of its kernels; of a collective from the last member's arrival on
  core::TimelinePhase phase = core::TimelinePhase::other;
  core::Stream stream = core::Stream::compute;
  std::uint32_t collective = no_gpu_collective;  // counts in the step
};

/// Ranks in the same situation: the same operations at the same cost.
struct GpuRankClass {
  const models::Program* program = nullptr;  // of its first rank; dependencies are read from it
  std::vector<GpuOperation> operations;      // with the Program's indices
  std::int64_t represents = 1;               // ranks
};

/// Where an operation lay in the reported step; times count from the start of the simulation.
struct GpuSegment {
  core::Time begin, end;
};

struct GpuClassResult {
  PhaseSums phases;  // sum to the step time
  std::vector<GpuSegment> operations;
  core::Time begin;         // of the step on the compute stream
  core::Time host_busy;     // issuing, in the step
  core::Time compute_busy;  // kernels of the compute stream
};

struct GpuCollectiveResult {
  std::uint32_t collective = 0;
  core::Time last_arrival, end;
};

struct GpuSimulationResult {
  core::Time step_time;
  core::Time first_step;
  bool periodic = false;  // else `step_time` is the mean over all steps but the first
  std::uint32_t steps = 0;
  core::Time shortest_period, longest_period;
  std::vector<GpuClassResult> classes;
  std::vector<GpuCollectiveResult> collectives;
};

/// Repeats the step until two consecutive periods of every class agree to the picosecond, at most
/// `most_steps` times.
///
/// The host issues operations in order, at most `launch_queue` of the compute stream ahead of the
/// device. An operation starts when it is issued, the one before it on its stream has ended, and
/// its dependencies have. A collective starts on each rank like any operation, and ends on all
/// `duration` after the last has started. While the compute stream waits for the communication
/// stream, each of its collectives is straggler wait from its start on this rank until the last
/// member has started it, and exposed communication until it ended; all else is host-bound idle.
///
/// All members of all collectives are in `classes`. Throws `core::RunError` if classes wait for
/// each other for ever.
[[nodiscard]] GpuSimulationResult simulate_gpu_steps(std::span<const GpuRankClass> classes);

/// Kernels that CUDA queues before a launch blocks the host.
inline constexpr std::size_t launch_queue = 1024;

}  // namespace paceline::sim
