#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/quantity.hpp"

namespace paceline::runtime {

/// Logical cores that this process may use (its affinity mask and CPU quota).
[[nodiscard]] std::int64_t usable_cores();
/// Memory of the host or the limit of its control group, whichever is less.
[[nodiscard]] core::Bytes usable_memory();
/// Host name, CPU, cores, libraries, compiler, instruction set, wall clock (UTC).
[[nodiscard]] std::map<std::string, std::string> host_provenance();
/// Changes when the host boots, and differs between hosts: ranks with equal ones share clocks.
[[nodiscard]] std::string boot_id();

/// Peak resident memory of this process (VmHWM) and the present one (VmRSS).
[[nodiscard]] core::Bytes peak_resident();
[[nodiscard]] core::Bytes resident();
/// Forgets the peak, where the kernel lets it; false if not.
bool reset_peak_resident();

}  // namespace paceline::runtime
