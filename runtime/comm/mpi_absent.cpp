#include "core/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

std::unique_ptr<Communicator> make_mpi_communicator() {
  throw core::UsageError("a launcher started " + std::to_string(launched_ranks()) +
                         " ranks, and this paceline-rt was built without MPI (install Open MPI, "
                         "on Debian: libopenmpi-dev openmpi-bin, and build again)");
}

std::string mpi_library() { return "none"; }

}  // namespace paceline::runtime
