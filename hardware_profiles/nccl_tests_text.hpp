#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware_profiles/cluster.hpp"
#include "hardware_profiles/topology_text.hpp"

/// Logs of NVIDIA's nccl-tests (`all_reduce_perf` and so on) as measured tables of a cluster.
namespace paceline::hardware_profiles {

struct NcclTestsLog {
  MeasuredCollective table;  // times out of place; without a source
  std::string gpu;           // of the first rank, as nccl-tests prints it
  double best_busbw_gb_per_s = 0;
};

/// Reads the table that a log prints. Ranks and nodes come from its "Rank … on HOST" lines, the
/// collective from `kind`, else from the line that names the test, else from the factor between
/// busbw and algbw where only one collective has it. A size that stands there several times counts
/// by its median.
/// Throws `core::ConfigError` with the line for: one rank alone, a table that is cut, wrong values
/// (#wrong > 0), an algbw that is not bytes / time (other tools count other bytes), and a factor
/// that is not the collective's.
[[nodiscard]] NcclTestsLog read_nccl_tests(const NamedText& log,
                                           std::optional<core::CollectiveKind> kind);

/// busbw / algbw as nccl-tests defines it.
[[nodiscard]] double busbw_factor(core::CollectiveKind kind, int ranks);

/// The cluster file `text` with this table, in the place of one of the same collective, ranks and
/// nodes. Comments of the file are lost. `title`: where the table comes from.
/// Throws `core::ConfigError` with the faults of the file, or if it has too few slots or nodes.
[[nodiscard]] std::string cluster_with(const MeasuredCollective& table, const std::string& title,
                                       const NamedText& cluster, std::string_view profiles);

}  // namespace paceline::hardware_profiles
