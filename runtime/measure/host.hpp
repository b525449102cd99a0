#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/quantity.hpp"

namespace paceline::runtime {

/// Numbers of the logical cores in this process's affinity mask; empty if the system does not say.
[[nodiscard]] std::vector<int> allowed_cores();
/// Logical cores that this process may use (its affinity mask and CPU quota).
[[nodiscard]] std::int64_t usable_cores();
/// `cores`, or the CPU quota of this process's control group if that is less.
[[nodiscard]] std::int64_t within_quota(std::int64_t cores);
/// Memory of the host or the limit of its control group, whichever is less.
[[nodiscard]] core::Bytes usable_memory();
/// Host name, CPU, cores, libraries, compiler, instruction set, wall clock (UTC).
[[nodiscard]] std::map<std::string, std::string> host_provenance();
/// Changes when the host boots, and differs between hosts: ranks with equal ones share clocks.
[[nodiscard]] std::string boot_id();

/// How far this process's peak resident memory rises above where it stood, MPI's shared buffers and
/// the kernels' own included. Program and library code that is used for the first time is not
/// counted: pages of files, of which the system states how many it holds.
class ResidentRise {
 public:
  /// Starts here: forgets the peak so far, where the kernel lets it.
  ResidentRise();
  /// VmHWM now, minus VmRSS and the growth of RssFile since the start.
  [[nodiscard]] core::Bytes so_far() const;

 private:
  core::Bytes resident_;
  core::Bytes file_pages_;
};

}  // namespace paceline::runtime
