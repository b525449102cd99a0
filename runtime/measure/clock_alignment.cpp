#include "runtime/measure/clock_alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "runtime/comm/numbers.hpp"
#include "runtime/measure/clock.hpp"

namespace paceline::runtime {
namespace {

constexpr double us_per_ns = 1e-3;
constexpr int round_trips = 64;

std::int64_t receive_clock(Communicator& communicator, int from) {
  std::array<std::int64_t, 1> clock{};
  communicator.receive(from, std::as_writable_bytes(std::span(clock)));
  return clock[0];
}

void send_clock(Communicator& communicator, int to) {
  const std::array<std::int64_t, 1> clock{now_ns()};
  communicator.send(to, std::as_bytes(std::span(clock)));
}

ClockEstimate best_of_many(Communicator& communicator, int other) {
  ClockEstimate best;
  for (int i = 0; i < round_trips; ++i) {
    const std::int64_t sent = now_ns();
    send_clock(communicator, other);
    const std::int64_t remote = receive_clock(communicator, other);
    const ClockEstimate estimate = estimate_of(sent, remote, now_ns());
    if (i == 0 || estimate.uncertainty_us < best.uncertainty_us) best = estimate;
  }
  return best;
}

}  // namespace

ClockEstimate estimate_of(std::int64_t sent_ns, std::int64_t remote_ns, std::int64_t received_ns) {
  const double half_trip_ns = static_cast<double>(received_ns - sent_ns) / 2;
  return {.at_ns = remote_ns,
          .offset_us = (static_cast<double>(remote_ns - sent_ns) - half_trip_ns) * us_per_ns,
          .uncertainty_us = half_trip_ns * us_per_ns};
}

ClockEstimate ping_pong(Communicator& communicator) {
  communicator.barrier();
  if (communicator.rank() != 0) {
    for (int i = 0; i < round_trips; ++i) {
      static_cast<void>(receive_clock(communicator, 0));
      send_clock(communicator, 0);
    }
  }
  ClockEstimate mine{.at_ns = now_ns()};
  std::vector<double> all;
  if (communicator.rank() == 0) {
    all = {0.0, 0.0};
    for (int other = 1; other < communicator.size(); ++other) {
      const ClockEstimate theirs = best_of_many(communicator, other);
      all.insert(all.end(), {theirs.offset_us, theirs.uncertainty_us});
    }
  }
  all = broadcast_numbers(communicator, all);
  const auto place = 2 * static_cast<std::size_t>(communicator.rank());
  mine.offset_us = all.at(place);
  mine.uncertainty_us = all.at(place + 1);
  return mine;
}

ClockAlignment::ClockAlignment(const ClockEstimate& before, const ClockEstimate& after,
                               bool one_host)
    : before_(before), after_(after) {
  const auto may_be_zero = [](const ClockEstimate& estimate) {
    return std::abs(estimate.offset_us) <= estimate.uncertainty_us;
  };
  one_clock_ = one_host && may_be_zero(before) && may_be_zero(after);
}

double ClockAlignment::on_rank_0_us(std::int64_t instant_ns) const {
  const double own_us = static_cast<double>(instant_ns) * us_per_ns;
  if (one_clock_) return own_us;
  const auto span = static_cast<double>(after_.at_ns - before_.at_ns);
  const double share = span > 0 ? static_cast<double>(instant_ns - before_.at_ns) / span : 0.0;
  return own_us - (before_.offset_us + share * (after_.offset_us - before_.offset_us));
}

double ClockAlignment::offset_us() const { return (before_.offset_us + after_.offset_us) / 2; }

double ClockAlignment::uncertainty_us() const {
  return std::max(before_.uncertainty_us, after_.uncertainty_us);
}

}  // namespace paceline::runtime
