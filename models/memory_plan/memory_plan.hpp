#pragma once

#include <cstdint>
#include <vector>

#include "core/quantity.hpp"
#include "models/program.hpp"

namespace paceline::models {

/// When a tensor's memory must be its own, in positions of `Program::operations`, ends included.
/// Persistent tensors live from 0 to the last operation. A tensor used by an operation of the
/// communication stream lives until the operation that waits for that one.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// One arena for a Program: where each tensor starts.
struct MemoryPlan {
  /// By tensor id; views lie inside their base.
  std::vector<core::Bytes> offsets;
  std::vector<Lifetime> lifetimes;
  /// Size of the arena.
  core::Bytes arena;
  /// Most bytes alive at once (a lower bound of `arena`), where that happens, and what they are.
  core::Bytes peak_alive;
  std::size_t peak_operation = 0;
  core::PerEnum<core::MemoryCategory, core::Bytes> peak_by_category;
};

/// Every tensor starts at a multiple of this.
inline constexpr std::int64_t memory_plan_alignment = 64;

/// Largest tensors first, each at the lowest offset where it overlaps no other in space and time.
/// Throws `core::InvariantError` if an operation reads a tensor before any wrote it.
[[nodiscard]] MemoryPlan plan_memory(const Program& program);

/// Most bytes alive at once where every tensor is an allocation of its own, rounded up to
/// `granularity`, as PyTorch's caching allocator counts them (max_memory_allocated).
struct PeakMemory {
  core::Bytes total;
  std::size_t peak_operation = 0;
  core::PerEnum<core::MemoryCategory, core::Bytes> by_category;
};
/// Throws `core::InvariantError` as `plan_memory` does.
[[nodiscard]] PeakMemory peak_memory(const Program& program, core::Bytes granularity);

}  // namespace paceline::models
