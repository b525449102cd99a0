#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {
namespace {

/// One rank: nobody to wait for.
class SingleCommunicator final : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  [[nodiscard]] std::string library() const override { return "none"; }
  void start_exchange(int /*to*/, std::span<const std::byte> /*sent*/, int /*from*/,
                      std::span<std::byte> /*received*/) override {
    throw core::InvariantError("an exchange in a world of one rank");
  }
  [[nodiscard]] bool exchange_done() override { return true; }
  void send(int /*to*/, std::span<const std::byte> /*message*/) override {
    throw core::InvariantError("a message in a world of one rank");
  }
  void receive(int /*from*/, std::span<std::byte> /*message*/) override {
    throw core::InvariantError("a message in a world of one rank");
  }
  void quiet_barrier() override {}
  void barrier() override {}
  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override { return {text}; }
  [[nodiscard]] std::string broadcast(const std::string& text) override { return text; }
};

}  // namespace

namespace {

/// The first of these environment variables that is set, as a number.
int first_set(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value == nullptr) continue;
    int number = otherwise;
    const auto end = value + std::strlen(value);
    const auto [last, error] = std::from_chars(value, end, number);
    if (error != std::errc() || last != end) {
      throw core::UsageError(std::string(name) + " is \"" + value +
                             "\" (a launcher sets it to a whole number)");
    }
    return number;
  }
  return otherwise;
}

}  // namespace

int launched_ranks() {
  return std::max(1, first_set({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}, 1));
}

int launched_rank() { return first_set({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}, 0); }

namespace {
bool have_met = false;  // of this process: what `main` says about an error depends on it
}

bool ranks_have_met() { return have_met; }

std::unique_ptr<Communicator> make_communicator() {
  if (launched_ranks() > 1) {
    auto communicator = make_mpi_communicator();
    have_met = true;
    return communicator;
  }
  return make_single_communicator();
}

std::unique_ptr<Communicator> make_single_communicator() {
  return std::make_unique<SingleCommunicator>();
}

}  // namespace paceline::runtime
