#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace paceline::runtime {

/// How ranks talk. One rank needs no library; several need one that the build found.
/// Every call is made by the thread that made the communicator, by all ranks in the same order.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Library and version as it states them, "none" for one rank.
  [[nodiscard]] virtual std::string library() const = 0;

  /// Starts sending `sent` to one rank and receiving `received` from another. One exchange at a
  /// time; both buffers belong to it until `exchange_done` returns true.
  virtual void start_exchange(int to, std::span<const std::byte> sent, int from,
                              std::span<std::byte> received) = 0;
  /// Advances the exchange; true once it has ended.
  [[nodiscard]] virtual bool exchange_done() = 0;

  /// One message from this rank to another one that receives it with as many bytes; each returns
  /// when its buffer may be used again.
  virtual void send(int to, std::span<const std::byte> message) = 0;
  virtual void receive(int from, std::span<std::byte> message) = 0;

  /// Returns when all ranks have called it. Waits without using the core.
  virtual void quiet_barrier() = 0;
  /// Returns when all ranks have called it, as soon as possible.
  virtual void barrier() = 0;
  /// Each rank's text at rank 0, in rank order; empty at the others.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& text) = 0;
  /// Rank 0's text at every rank.
  [[nodiscard]] virtual std::string broadcast(const std::string& text) = 0;
};

/// The communicator of this process: of all ranks that a launcher (mpirun, srun) started, or of
/// one. Throws `core::UsageError` if a launcher started several and the build has no library for
/// them.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator();
/// True once `make_communicator` has joined several ranks.
[[nodiscard]] bool ranks_have_met();

/// Ranks that a launcher says it started, from its environment; 1 without one.
[[nodiscard]] int launched_ranks();
/// This process among them; 0 without a launcher.
[[nodiscard]] int launched_rank();

/// A world of one rank, whatever the launcher says.
[[nodiscard]] std::unique_ptr<Communicator> make_single_communicator();

/// Implemented by the build: with Open MPI, or refusing clearly without.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_communicator();
/// Version text of the message-passing library, "none" if the build has none.
[[nodiscard]] std::string mpi_library();

}  // namespace paceline::runtime
