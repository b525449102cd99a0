#include "sim/simulation/cpu_rank.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace paceline::sim {
namespace {

/// Longest run of segments in a step: each operation, each ring step, and a wait before each.
std::size_t most_segments(const CostedProgram& program) {
  std::size_t segments = 2 * program.operations.size();
  for (const CostedCollective& collective : program.collectives) {
    segments += 4 * collective.steps.size();
  }
  return segments;
}

}  // namespace

CpuRank::CpuRank(std::uint32_t rank, const CostedProgram& program, std::uint32_t steps,
                 Engine& engine, CollectiveBoard& board, Timeline::Keep keep)
    : rank_(rank),
      program_(program),
      steps_(steps),
      engine_(engine),
      board_(board),
      timeline_(steps, steps * most_segments(program), keep) {}

void CpuRank::handle(CpuRankEvent event) {
  switch (event) {
    case CpuRankEvent::operation_ended:
      end_operation();
      return;
    case CpuRankEvent::arrived: {
      const CostedOperation& operation = program_.operations[next_operation_];
      timeline_.add(Activity::host_issue, operation.phase, next_operation_, 0, engine_.now());
      arrive(next_operation_, Running::on_compute_stream);
      continue_collective();
      return;
    }
    case CpuRankEvent::ring_step_ended:
      end_ring_step();
      return;
    case CpuRankEvent::message_came:
      awaited_.reset();
      add_waited(Activity::wait);
      start_ring_step(true);
      return;
    case CpuRankEvent::poll:
      poll();
      return;
  }
}

/// The core is free: does what comes next.
void CpuRank::advance() {
  while (!done()) {
    if (must_end_communication()) {
      continue_collective();
      return;
    }
    if (next_operation_ == program_.operations.size()) {
      end_step();
    } else if (program_.operations[next_operation_].stream == core::Stream::communication) {
      issue_communication();
    } else {
      issue_compute();
      return;
    }
  }
}

bool CpuRank::must_end_communication() const {
  if (next_operation_ == program_.operations.size()) {
    return communication_ended_ < communication_issued_;
  }
  const CostedOperation& next = program_.operations[next_operation_];
  if (next.stream == core::Stream::communication) return false;
  const bool runs_collective = next.collective != no_collective;
  return communication_ended_ <
         (runs_collective ? communication_issued_ : next.communication_before);
}

void CpuRank::issue_communication() {
  ++communication_issued_;
  if (running_ == Running::none) arrive(next_operation_, Running::beside_compute);
  ++next_operation_;
}

void CpuRank::issue_compute() {
  const CostedOperation& operation = program_.operations[next_operation_];
  if (operation.collective != no_collective) {
    schedule(operation.host_issue, EventPhase::completion, CpuRankEvent::arrived);
  } else {
    schedule(operation.duration, EventPhase::completion, CpuRankEvent::operation_ended);
  }
}

void CpuRank::end_operation() {
  const CostedOperation& operation = program_.operations[next_operation_];
  timeline_.add(Activity::operation, operation.phase, next_operation_, 0, engine_.now());
  ++next_operation_;
  if (running_ == Running::beside_compute) {
    schedule({}, EventPhase::poll, CpuRankEvent::poll);
  } else {
    advance();
  }
}

void CpuRank::arrive(std::uint32_t operation, Running how) {
  running_ = how;
  operation_ = operation;
  ring_step_ = 0;
  const CostedCollective& collective = current_collective();
  instance_ = board_.instance(collective.communicator, timeline_.steps(), collective.sequence);
  tell_waiting(board_.arrive(instance_, collective.position, engine_.now()));
}

/// What this rank just posted is what `rank` waits for.
void CpuRank::tell_waiting(std::optional<std::uint32_t> rank) {
  if (!rank) return;
  engine_.schedule({}, EventPhase::resumption, *rank,
                   static_cast<std::uint32_t>(CpuRankEvent::message_came));
}

/// The compute stream waits for the collective: runs its next ring step, or waits for it.
void CpuRank::continue_collective() {
  const CostedCollective& collective = current_collective();
  if (ring_step_ == collective.steps.size()) {  // of one member
    end_collective();
    advance();
    return;
  }
  const std::uint32_t from = collective.steps[ring_step_].receive_from;
  if (board_.has_posted(instance_, from, ring_step_)) {
    start_ring_step(true);
  } else {
    awaited_ = AwaitedMessage{.instance = instance_, .ring_step = ring_step_, .from = from};
    board_.await(instance_, from, ring_step_, rank_);
  }
}

void CpuRank::poll() {
  const CostedCollective& collective = current_collective();
  if (ring_step_ == collective.steps.size()) {
    end_collective();
  } else if (board_.has_posted(instance_, collective.steps[ring_step_].receive_from, ring_step_)) {
    start_ring_step(false);
    return;
  }
  advance();
}

void CpuRank::start_ring_step(bool waited_for) {
  waited_for_ = waited_for;
  schedule(current_collective().steps[ring_step_].duration, EventPhase::completion,
           CpuRankEvent::ring_step_ended);
}

void CpuRank::end_ring_step() {
  if (waited_for_) {
    add_waited(Activity::ring_step);
  } else {
    timeline_.add(Activity::ring_step, core::TimelinePhase::exposed_communication, operation_,
                  ring_step_, engine_.now());
  }
  const CostedCollective& collective = current_collective();
  if (++ring_step_ < collective.steps.size()) {
    tell_waiting(board_.post_next(instance_, collective.position));
    if (running_ == Running::on_compute_stream) {
      continue_collective();
      return;
    }
  } else {
    end_collective();
  }
  advance();
}

void CpuRank::end_collective() {
  board_.leave(instance_, current_collective().position, engine_.now());
  if (running_ == Running::on_compute_stream) {
    ++next_operation_;
    running_ = Running::none;
    return;
  }
  running_ = Running::none;
  ++communication_ended_;
  if (communication_ended_ < communication_issued_) {
    arrive(program_.communication[communication_ended_], Running::beside_compute);
  }
}

void CpuRank::end_step() {
  timeline_.end_step();
  next_operation_ = 0;
  communication_issued_ = 0;
  communication_ended_ = 0;
}

void CpuRank::add_waited(Activity activity) {
  const core::Time now = engine_.now();
  const core::Time arrived =
      std::clamp(board_.last_arrival(instance_).value_or(now), timeline_.now(), now);
  timeline_.add(activity, core::TimelinePhase::straggler_wait, operation_, ring_step_, arrived);
  timeline_.add(activity, core::TimelinePhase::exposed_communication, operation_, ring_step_, now);
}

void CpuRank::schedule(core::Time delay, EventPhase phase, CpuRankEvent event) {
  engine_.schedule(delay, phase, rank_, static_cast<std::uint32_t>(event));
}

std::string CpuRank::operation_name() const {
  const std::uint32_t index = running_ == Running::none ? next_operation_ : operation_;
  if (index >= program_.operations.size()) return "the end of its step";
  return program_.program->operations[index].name();
}

const CostedCollective& CpuRank::current_collective() const {
  return program_.collectives[program_.operations[operation_].collective];
}

}  // namespace paceline::sim
