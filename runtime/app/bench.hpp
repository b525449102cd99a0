#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::runtime {

/// `paceline-rt bench gemm|attention|memory|collectives`; the exit code: 1 if a collective gave a
/// wrong result.
int bench_command(const std::vector<std::string>& arguments);

/// "8", "64K", "4M", "1G" as nccl-tests takes sizes (powers of 1024), in bytes. Throws
/// `core::UsageError` naming `option` for anything else, or unless 1 ≤ bytes ≤ 2^40.
[[nodiscard]] std::int64_t parse_bytes(const std::string& option, const std::string& text);

/// "197x768x3072": `count` extents of 1 to 2^20. Throws `core::UsageError` naming `option`.
[[nodiscard]] std::vector<std::int64_t> parse_extents(const std::string& option,
                                                      const std::string& text, std::size_t count);

}  // namespace paceline::runtime
