#include "runtime/kernels/threads.hpp"

#include <string>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/error.hpp"

namespace paceline::runtime::kernels {

int thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

void set_thread_count(int threads) {
  if (threads < 1) {
    throw core::InvariantError("kernels are asked to use " + std::to_string(threads) +
                               " threads (must be > 0)");
  }
#ifdef _OPENMP
  omp_set_num_threads(threads);
#endif
}

}  // namespace paceline::runtime::kernels
