#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "core/report.hpp"
#include "core/time.hpp"
#include "sim/memory/memory_fit.hpp"
#include "sim/simulation/timeline.hpp"

namespace paceline::sim {

/// How ranks of a job reach each other.
enum class Reach : std::uint8_t { one_rank, one_node, several_nodes };

/// Where one rank's step goes.
struct RankLoad {
  std::string device_name;
  std::int64_t micro_batch = 0;
  PhaseSums phases;
  core::Time products;         // matrix products and attention
  core::Time other_kernels;    // bound by memory, batch loading apart
  std::int64_t operators = 0;  // that the host issues to a GPU; 0 on a CPU rank
  core::Time host_busy{};      // issuing them
};

struct StepLoad {
  core::Time step;
  std::vector<RankLoad> ranks;
  Reach reach = Reach::one_rank;
  core::Bytes gradient_bytes;
  std::vector<double> interval_90_us;
};

/// What takes most of the step of the rank that the others wait for, or the wait for it if that is
/// longer: compute, memory_bandwidth, host_launch, copy_to_gpu, data_loading, intra_node_link or
/// network, slow_device.
[[nodiscard]] core::Bottleneck bottleneck_of(const StepLoad& load);

/// The rank that waits least for others; of equals the first.
[[nodiscard]] std::size_t slowest_rank(const std::vector<RankLoad>& ranks);

/// Of a job in which `rank` does not fit.
[[nodiscard]] core::Bottleneck memory_bottleneck(int rank, const std::string& device_name,
                                                 const MemoryFit& fit,
                                                 std::int64_t largest_micro_batch);

}  // namespace paceline::sim
