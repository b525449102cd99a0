#pragma once

#include <cstdint>

#include "runtime/comm/communicator.hpp"

namespace paceline::runtime {

/// What a ping-pong says about two clocks: rank 0 notes its clock, sends, the other answers with
/// its own clock, rank 0 notes its clock again. The other's clock was read between the two notes,
/// so its offset is known to half the round trip; of many, the shortest counts.
struct ClockEstimate {
  std::int64_t at_ns = 0;  // this rank's clock in the middle
  double offset_us = 0;    // this rank's clock minus rank 0's
  double uncertainty_us = 0;
};

/// One round trip as rank 0 saw it, with the other's clock between.
[[nodiscard]] ClockEstimate estimate_of(std::int64_t sent_ns, std::int64_t remote_ns,
                                        std::int64_t received_ns);

/// This rank's clock against rank 0's, now. Collective: every rank calls it.
[[nodiscard]] ClockEstimate ping_pong(Communicator& communicator);

/// This rank's clock against rank 0's during a run, from a ping-pong before and one after it: the
/// offset between them lies on the line through both, which follows a steady drift.
class ClockAlignment {
 public:
  /// Clocks that are one.
  ClockAlignment() = default;
  /// `one_host`: the ranks say that they share a host. Where both estimates agree that the offset
  /// may be 0, the two processes read one clock, and times are left as they are.
  ClockAlignment(const ClockEstimate& before, const ClockEstimate& after, bool one_host);

  /// Microseconds on rank 0's clock of an instant on this rank's.
  [[nodiscard]] double on_rank_0_us(std::int64_t instant_ns) const;
  /// As measured, the mean of both ping-pongs.
  [[nodiscard]] double offset_us() const;
  /// The larger of the two.
  [[nodiscard]] double uncertainty_us() const;
  [[nodiscard]] bool is_one_clock() const { return one_clock_; }

 private:
  ClockEstimate before_, after_;
  bool one_clock_ = true;
};

}  // namespace paceline::runtime
