#include "runtime/kernels/library.hpp"

#include <Eigen/Core>

namespace paceline::runtime::kernels {

std::string library_text() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
}

std::string instruction_set_text() { return Eigen::SimdInstructionSetsInUse(); }

}  // namespace paceline::runtime::kernels
