#pragma once

namespace paceline::runtime::kernels {

/// Threads that the kernels called from this thread use. Results do not depend on it: work is cut
/// into blocks by the shapes alone, and partial sums are added in block order.
[[nodiscard]] int thread_count();

/// Sets it for the calling thread. Without OpenMP it stays 1. Throws `core::InvariantError` if
/// `threads` is not positive.
void set_thread_count(int threads);

}  // namespace paceline::runtime::kernels
