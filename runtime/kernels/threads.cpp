#include "runtime/kernels/threads.hpp"

#include <string>

#include "core/error.hpp"

#ifdef _OPENMP
// As <omp.h> declares them; the header itself belongs to one compiler, and tools that read this
// source with another do not find it.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int threads);
}
#endif

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
