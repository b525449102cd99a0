#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/program.hpp"
#include "models/schedules/ring.hpp"
#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

/// A ring all-reduce under way: executes the schedule that the simulator costed, one step after the
/// other, over point-to-point exchanges. Sums into `buffer`; `received` takes one slice.
class RingAllReduce {
 public:
  RingAllReduce(Communicator& communicator, const std::vector<int>& ranks, std::span<float> buffer,
                std::span<float> received);

  /// Advances as far as messages have arrived, without waiting: tests the exchange once and, if it
  /// has ended, uses what it brought and starts the next. True once all steps are done.
  bool poll();
  [[nodiscard]] bool done() const { return next_step_ == steps_.size(); }

  /// Bytes handed to the communication library so far.
  [[nodiscard]] core::Bytes sent() const { return sent_; }
  [[nodiscard]] core::Bytes received() const { return received_bytes_; }

 private:
  [[nodiscard]] std::span<float> landing_of(const models::ScheduleStep& step) const;
  void start_step();
  void finish_step();

  Communicator& communicator_;
  std::vector<int> ranks_;
  std::vector<models::ScheduleStep> steps_;
  std::span<float> buffer_;
  std::span<float> received_;
  std::size_t next_step_ = 0;
  core::Bytes sent_;
  core::Bytes received_bytes_;
};

}  // namespace paceline::runtime
