#include "runtime/comm/ring.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "runtime/kernels/reduce.hpp"

namespace paceline::runtime {
namespace {

int position_in(const std::vector<int>& ranks, int rank) {
  const auto found = std::find(ranks.begin(), ranks.end(), rank);
  if (found == ranks.end()) {
    throw core::InvariantError("rank " + std::to_string(rank) +
                               " runs a collective of a communicator that it is not in");
  }
  return static_cast<int>(found - ranks.begin());
}

}  // namespace

RingAllReduce::RingAllReduce(Communicator& communicator, const std::vector<int>& ranks,
                             std::span<float> buffer, std::span<float> received)
    : communicator_(communicator),
      ranks_(ranks),
      steps_(models::ring_all_reduce(position_in(ranks, communicator.rank()),
                                     static_cast<int>(ranks.size()),
                                     static_cast<std::int64_t>(buffer.size()))),
      buffer_(buffer),
      received_(received) {
  if (!steps_.empty()) start_step();
}

bool RingAllReduce::poll() {
  if (done()) return true;
  if (!communicator_.exchange_done()) return false;
  finish_step();
  ++next_step_;
  if (!done()) start_step();
  return done();
}

/// A slice that is only copied is received where it belongs.
std::span<float> RingAllReduce::landing_of(const models::ScheduleStep& step) const {
  const auto elements = static_cast<std::size_t>(step.receive_elements);
  return step.received == models::ScheduleStep::Received::reduced
             ? received_.first(elements)
             : buffer_.subspan(static_cast<std::size_t>(step.receive_offset), elements);
}

void RingAllReduce::start_step() {
  const models::ScheduleStep& step = steps_[next_step_];
  const auto sent = buffer_.subspan(static_cast<std::size_t>(step.send_offset),
                                    static_cast<std::size_t>(step.send_elements));
  const auto received = landing_of(step);
  sent_ += core::Bytes(static_cast<std::int64_t>(sent.size_bytes()));
  received_bytes_ += core::Bytes(static_cast<std::int64_t>(received.size_bytes()));
  communicator_.start_exchange(ranks_[static_cast<std::size_t>(step.send_to)], std::as_bytes(sent),
                               ranks_[static_cast<std::size_t>(step.receive_from)],
                               std::as_writable_bytes(received));
}

void RingAllReduce::finish_step() {
  const models::ScheduleStep& step = steps_[next_step_];
  if (step.received == models::ScheduleStep::Received::copied) return;
  const auto target = buffer_.subspan(static_cast<std::size_t>(step.receive_offset),
                                      static_cast<std::size_t>(step.receive_elements));
  kernels::add_into(target, landing_of(step));
}

}  // namespace paceline::runtime
