#pragma once

#include <algorithm>
#include <cstdint>

#include "core/quantity.hpp"
#include "runtime/kernels/threads.hpp"

/// How kernels share their work among threads. Only for the kernels' own sources.
namespace paceline::runtime::kernels {

[[nodiscard]] constexpr std::int64_t blocks_in(std::int64_t count, std::int64_t block) {
  return (count + block - 1) / block;
}

/// Threads that a product is worth: waking one takes microseconds, in which it could do this much.
[[nodiscard]] inline std::int64_t threads_worth(core::Flops flops) {
  constexpr std::int64_t flops_per_thread = 500'000;
  return std::max<std::int64_t>(1, flops.value() / flops_per_thread);
}

/// Calls `work(index)` for each index below `count`, on at most `max_threads` threads. `work` must
/// not throw.
template <class Work>
void for_each_index(std::int64_t count, std::int64_t max_threads, const Work& work) {
  const int threads =
      static_cast<int>(std::min<std::int64_t>({count, max_threads, thread_count()}));
  if (threads <= 1) {
    for (std::int64_t index = 0; index < count; ++index) work(index);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (std::int64_t index = 0; index < count; ++index) work(index);
}

/// Calls `work(begin, end)` for consecutive blocks of [0, count): the same blocks whatever the
/// number of threads.
template <class Work>
void for_each_block(std::int64_t count, std::int64_t block, const Work& work) {
  const std::int64_t blocks = blocks_in(count, block);
  for_each_index(blocks, blocks, [&](std::int64_t index) {
    work(index * block, std::min(count, (index + 1) * block));
  });
}

/// Elements that a thread takes at a time in element-wise kernels: enough to outweigh starting the
/// thread (some microseconds), few enough to share out evenly.
inline constexpr std::int64_t elements_per_block = 16384;

/// Rows of `width` elements that a thread takes at a time.
[[nodiscard]] inline std::int64_t rows_per_block(std::int64_t width) {
  return std::max<std::int64_t>(1, elements_per_block / std::max<std::int64_t>(1, width));
}

/// Sums over rows are cut into at most this many partial sums.
inline constexpr std::int64_t max_partial_sums = 32;

/// Rows in each partial sum.
[[nodiscard]] inline std::int64_t rows_per_partial_sum(std::int64_t rows, std::int64_t width) {
  return std::max(rows_per_block(width), blocks_in(rows, max_partial_sums));
}

}  // namespace paceline::runtime::kernels
