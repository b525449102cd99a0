#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "models/program.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/ring.hpp"
#include "runtime/comm/status_board.hpp"
#include "runtime/training/batch_source.hpp"
#include "runtime/training/storage.hpp"

namespace paceline::runtime {

/// What a rank's one thread did, in order and without gaps: an entry begins where the one before
/// ended, so the entries partition the step.
struct TimelineEntry {
  enum class What : std::uint8_t {
    operation,   // a kernel, a batch, or a collective run to its end where it stands
    poll,        // one advance of a collective that goes on beside the compute stream
    finish_wait  // running a collective to its end because the next operation needs it
  };
  What what = What::operation;
  std::uint32_t operation = 0;  // index in the Program
  std::int64_t issued_ns = 0;   // end of the entry before
  std::int64_t begin_ns = 0;    // after the interpreter's own work
  std::int64_t end_ns = 0;
};

struct StepRecord {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<TimelineEntry> timeline;
  /// By operation; when this rank joined and left the collective, else 0.
  std::vector<std::int64_t> joined_ns;
  std::vector<std::int64_t> left_ns;
  models::WorkByKind counted;
  double loss = 0;  // this rank's part of the mean over the global batch
};

/// Executes a Program's training step on a CPU rank: the second interpreter.
class StepExecutor {
 public:
  /// All references must outlive the executor. `first_image_of_rank` is the number of images that
  /// lower ranks take from each micro-step, `images_per_micro_step` that of all ranks.
  StepExecutor(const models::Program& program, Storage<float>& storage, Communicator& communicator,
               BatchSource& source, StatusBoard* board, std::int64_t first_image_of_rank,
               std::int64_t images_per_micro_step);

  /// Executes step number `step` (from 0). Fills `record` anew. Throws `core::RunError` at a loss
  /// that is not finite, with the step and the first parameter or tensor that is not.
  void run_step(std::int64_t step, StepRecord& record);

 private:
  void execute(std::size_t index, std::int64_t step, StepRecord& record);
  void check_loss(std::size_t index, std::int64_t step) const;
  /// Name of the first parameter, else of the first tensor still kept of what the step computed up
  /// to operation `index`, that holds a value that is not finite; the loss if there is none.
  [[nodiscard]] std::string first_not_finite(std::size_t index) const;
  void load_batch(const models::Operation& operation, std::int64_t step, StepRecord& record);
  void run_to_end(std::size_t index, StepRecord& record);
  /// Issues a collective on the communication stream.
  void enqueue(std::size_t index, StepRecord& record);
  void start_next(StepRecord& record);
  bool poll_pending(StepRecord& record);
  void finish_pending_until(models::OperationId wanted, StepRecord& record);
  [[nodiscard]] RingAllReduce start_ring(const models::Operation& operation);
  static void count(const models::Operation& operation, const RingAllReduce& ring,
                    StepRecord& record);
  void append(TimelineEntry::What what, std::size_t index, std::int64_t begin, std::int64_t end,
              StepRecord& record) const;

  const models::Program& program_;
  Storage<float>& storage_;
  Communicator& communicator_;
  BatchSource& source_;
  StatusBoard* board_;
  std::int64_t first_image_of_rank_;
  std::int64_t images_per_micro_step_;
  std::deque<std::size_t> pending_;    // collectives of the communication stream, in order
  std::optional<RingAllReduce> ring_;  // of the first of them
};

}  // namespace paceline::runtime
