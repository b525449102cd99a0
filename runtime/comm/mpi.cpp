#include <mpi.h>

#include <array>
#include <chrono>
#include <climits>
#include <thread>

#include "core/error.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {
namespace {

void check(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw core::RunError(std::string(call) + " failed: " + text.data());
}

int count_of(std::size_t bytes) {
  if (bytes > INT_MAX) {
    throw core::RunError("a message of " + std::to_string(bytes) +
                         " bytes (at most 2147483647; use a smaller bucket_mib)");
  }
  return static_cast<int>(bytes);
}

// Tags.
constexpr int exchanged = 0;
constexpr int gathered_text = 1;
constexpr int single_message = 2;

/// All ranks of MPI_COMM_WORLD.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator() {
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    if (size_ != launched_ranks()) {
      throw core::RunError(
          "the launcher started " + std::to_string(launched_ranks()) + " ranks, MPI sees " +
          std::to_string(size_) +
          " (use the mpirun of the MPI that this program was built with: " + mpi_library() + ")");
    }
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() override {
    // With an exception in flight the other ranks may never reach the finalisation.
    if (std::uncaught_exceptions() > 0) return;
    MPI_Finalize();
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string library() const override { return mpi_library(); }

  void start_exchange(int to, std::span<const std::byte> sent, int from,
                      std::span<std::byte> received) override {
    expected_ = count_of(received.size());
    from_ = from;
    check(MPI_Irecv(received.data(), expected_, MPI_BYTE, from, exchanged, MPI_COMM_WORLD,
                    &requests_[0]),
          "MPI_Irecv");
    check(MPI_Isend(sent.data(), count_of(sent.size()), MPI_BYTE, to, exchanged, MPI_COMM_WORLD,
                    &requests_[1]),
          "MPI_Isend");
  }

  [[nodiscard]] bool exchange_done() override {
    int done = 0;
    std::array<MPI_Status, 2> statuses{};
    const int code = MPI_Testall(2, requests_.data(), &done, statuses.data());
    if (code != MPI_SUCCESS) throw_mismatch("a longer message than this rank expects");
    if (done == 0) return false;
    int arrived = 0;
    check(MPI_Get_count(&statuses[0], MPI_BYTE, &arrived), "MPI_Get_count");
    if (arrived != expected_) throw_mismatch("a message of " + std::to_string(arrived) + " bytes");
    return true;
  }

  void send(int to, std::span<const std::byte> message) override {
    check(MPI_Send(message.data(), count_of(message.size()), MPI_BYTE, to, single_message,
                   MPI_COMM_WORLD),
          "MPI_Send");
  }

  void receive(int from, std::span<std::byte> message) override {
    check(MPI_Recv(message.data(), count_of(message.size()), MPI_BYTE, from, single_message,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          "MPI_Recv");
  }

  void quiet_barrier() override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
    for (;;) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }

  void barrier() override { check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }

  [[nodiscard]] std::vector<std::string> gather(const std::string& text) override {
    const int mine = count_of(text.size());
    std::vector<int> lengths(static_cast<std::size_t>(rank_ == 0 ? size_ : 0));
    check(MPI_Gather(&mine, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD),
          "MPI_Gather");
    if (rank_ != 0) {
      check(MPI_Send(text.data(), mine, MPI_BYTE, 0, gathered_text, MPI_COMM_WORLD), "MPI_Send");
      return {};
    }
    std::vector<std::string> texts{text};
    for (int from = 1; from < size_; ++from) {
      std::string received(static_cast<std::size_t>(lengths[static_cast<std::size_t>(from)]), ' ');
      check(MPI_Recv(received.data(), count_of(received.size()), MPI_BYTE, from, gathered_text,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
      texts.push_back(std::move(received));
    }
    return texts;
  }

  [[nodiscard]] std::string broadcast(const std::string& text) override {
    int length = count_of(text.size());
    check(MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD), "MPI_Bcast");
    std::string received = text;
    received.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(received.data(), length, MPI_BYTE, 0, MPI_COMM_WORLD), "MPI_Bcast");
    return received;
  }

 private:
  [[noreturn]] void throw_mismatch(const std::string& what) const {
    throw core::RunError("rank " + std::to_string(from_) + " sent " + what + ", " +
                         std::to_string(expected_) +
                         " bytes were expected: the two ranks are not in the same collective");
  }

  int rank_ = 0;
  int size_ = 1;
  int expected_ = 0;  // bytes of the exchange under way
  int from_ = 0;
  std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

}  // namespace

std::unique_ptr<Communicator> make_mpi_communicator() {
  return std::make_unique<MpiCommunicator>();
}

std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data(), static_cast<std::size_t>(length));
  return version.substr(0, version.find(','));
}

}  // namespace paceline::runtime
