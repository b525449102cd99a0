#include "runtime/measure/timed_run.hpp"

#include <algorithm>
#include <cmath>

#include "core/statistics.hpp"
#include "runtime/comm/numbers.hpp"

namespace paceline::runtime {
namespace {

/// The reference product takes this share of a step.
constexpr double reference_share = 0.075;
constexpr double least_deadline_seconds = 10.0;

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// How many products make the share, the same on all ranks.
int reference_repeats(Communicator& communicator, ReferenceProduct& reference, double step_s) {
  constexpr int probe = 3;
  reference.run(probe);
  const double one = seconds(reference.run(probe)) / probe;
  const double wanted = std::max(1.0, std::round(reference_share * step_s / one));
  return static_cast<int>(broadcast_numbers(communicator, {wanted}).front());
}

bool ranks_share_a_host(Communicator& communicator) {
  const auto ids = communicator.gather(boot_id());
  const bool one =
      std::all_of(ids.begin(), ids.end(), [&](const auto& id) { return id == ids[0]; });
  return communicator.broadcast(one ? "one" : "several") == "one";
}

}  // namespace

TimedRun run_timed(StepExecutor& executor, Communicator& communicator, ReferenceProduct& reference,
                   const ResidentRise& rise, const TimedRunSettings& settings) {
  const models::Run& run = settings.run;
  TimedRun result;
  std::vector<double> warm_up;
  std::int64_t step = settings.first_step;
  StepRecord record;
  for (std::int64_t i = 0; i < std::max<std::int64_t>(1, run.warmup_steps); ++i) {
    communicator.barrier();
    executor.run_step(step++, record);
    warm_up.push_back(seconds(record.end_ns - record.start_ns));
    if (i == 0) result.first_step_ns = record.end_ns - record.start_ns;
    if (settings.progress) settings.progress(step);
  }
  result.resident_rise = rise.so_far();
  const double typical = core::median(warm_up);
  if (settings.watchdog != nullptr) {
    const double expected = settings.expected_step_s > 0 ? settings.expected_step_s : typical;
    settings.watchdog->set_deadline(std::chrono::duration<double>(
        std::max(least_deadline_seconds, deadline_factor * expected)));
  }
  const int repeats = reference_repeats(communicator, reference, typical);
  const bool one_host = ranks_share_a_host(communicator);
  const ClockEstimate clock_before = ping_pong(communicator);
  communicator.barrier();
  std::int64_t before = reference.run(repeats);
  for (std::int64_t i = 0; i < run.steps; ++i) {
    communicator.barrier();
    executor.run_step(step++, record);
    const std::int64_t after = reference.run(repeats);
    result.steps.push_back(record);
    result.reference_gflop_per_s.push_back(
        ReferenceProduct::gflop_per_s(2 * repeats, before + after));
    before = after;
    if (settings.progress) settings.progress(step);
  }
  result.clock = ClockAlignment(clock_before, ping_pong(communicator), one_host);
  return result;
}

}  // namespace paceline::runtime
