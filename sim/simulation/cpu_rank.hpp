#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/engine/engine.hpp"
#include "sim/simulation/collective_board.hpp"
#include "sim/simulation/costed_program.hpp"
#include "sim/simulation/timeline.hpp"

namespace paceline::sim {

/// What a CPU rank's events mean.
enum class CpuRankEvent : std::uint32_t {
  operation_ended,
  arrived,  // at a collective on the compute stream
  ring_step_ended,
  message_came,  // that this rank waits for
  poll
};

/// A step of a collective that a rank waits for a neighbour to post.
struct AwaitedMessage {
  CollectiveInstance instance = 0;
  std::uint32_t ring_step = 0;
  std::uint32_t from = 0;  // position in the communicator
};

/// One rank of `paceline_cpu` (models/program.hpp): one core for computing and for communication.
///
/// - Operations of the compute stream run in order, host issue before each.
/// - A collective on the compute stream runs to its end where it stands; those of the
///   communication stream that were issued before it end first, since one exchange runs at a time.
/// - One on the communication stream takes part from the moment at which it is issued and those
///   before it have ended. After each compute operation the rank looks once: if the next ring step
///   can start, the core executes it. An operation that depends on it runs it to its end, and so
///   does the end of the step.
/// - Ring steps and waits of a collective that the compute stream waits for are straggler wait
///   until the last member has arrived; all other time in collectives is exposed communication.
///
/// The next step begins when this rank's own has ended.
class CpuRank {
 public:
  /// All references must outlive the rank. Runs `steps` steps.
  CpuRank(std::uint32_t rank, const CostedProgram& program, std::uint32_t steps, Engine& engine,
          CollectiveBoard& board, Timeline::Keep keep);

  void start() { advance(); }
  void handle(CpuRankEvent event);

  [[nodiscard]] bool done() const { return timeline_.steps() == steps_; }
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const std::optional<AwaitedMessage>& awaited() const { return awaited_; }
  /// "communication.bucket0.all_reduce": where it stands.
  [[nodiscard]] std::string operation_name() const;
  /// Of the collective that is under way.
  [[nodiscard]] const CostedCollective& current_collective() const;
  [[nodiscard]] std::uint32_t ring_step() const { return ring_step_; }

 private:
  /// How a collective came to run now.
  enum class Running : std::uint8_t { none, on_compute_stream, beside_compute };

  void advance();
  [[nodiscard]] bool must_end_communication() const;
  void issue_communication();
  void issue_compute();
  void arrive(std::uint32_t operation, Running how);
  void continue_collective();
  void start_ring_step(bool waited_for);
  void end_operation();
  void end_ring_step();
  void end_collective();
  void poll();
  void end_step();
  void tell_waiting(std::optional<std::uint32_t> rank);
  void schedule(core::Time delay, EventPhase phase, CpuRankEvent event);
  /// Time up to now in a collective that the compute stream waits for.
  void add_waited(Activity activity);

  std::uint32_t rank_;
  const CostedProgram& program_;
  std::uint32_t steps_;
  Engine& engine_;
  CollectiveBoard& board_;
  Timeline timeline_;

  std::uint32_t next_operation_ = 0;
  // Of the communication stream, in this step; the first that has not ended takes part.
  std::uint32_t communication_issued_ = 0;
  std::uint32_t communication_ended_ = 0;

  Running running_ = Running::none;
  std::uint32_t operation_ = 0;  // the collective's
  CollectiveInstance instance_ = 0;
  std::uint32_t ring_step_ = 0;
  bool waited_for_ = false;  // the compute stream waits for the ring step that runs
  std::optional<AwaitedMessage> awaited_;
};

}  // namespace paceline::sim
