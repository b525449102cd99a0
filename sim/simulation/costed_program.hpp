#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/vocabulary.hpp"
#include "models/program.hpp"
#include "sim/collectives/exchange_cost.hpp"
#include "sim/compute/kernel_cost.hpp"

/// Programs with a time on everything: what the simulation runs. It knows no device and no link.
namespace paceline::sim {

/// One step of one member of a collective. It can start when this member has ended the step before
/// (or has arrived, for the first) and the one that it receives from has too.
struct CostedRingStep {
  core::Time duration{};           // exchange, and reduction of what came
  std::uint32_t receive_from = 0;  // position in the communicator
  std::uint32_t send_to = 0;
};

struct CostedCollective {
  std::uint32_t communicator = 0;  // index in `World::communicators`
  std::uint32_t position = 0;      // of this rank in it
  std::uint32_t sequence = 0;      // counts in the communicator, from 0
  std::vector<CostedRingStep> steps;
};

inline constexpr std::uint32_t no_collective = UINT32_MAX;

struct CostedOperation {
  core::Time host_issue{};  // what the interpreter itself takes, before the kernel or the arrival
  core::Time duration{};    // on the core, host issue included; collectives: see their steps
  core::TimelinePhase phase = core::TimelinePhase::other;
  core::Stream stream = core::Stream::compute;
  std::uint32_t collective = no_collective;  // index in `CostedProgram::collectives`
  /// Operations of the communication stream, counted in issue order, that must have ended.
  std::uint32_t communication_before = 0;
};

struct CostedProgram {
  const models::Program* program = nullptr;  // for names; operations have its indices
  std::vector<CostedOperation> operations;
  std::vector<CostedCollective> collectives;
  /// Operations of the communication stream in issue order.
  std::vector<std::uint32_t> communication;
};

/// All ranks' costed Programs, and the communicators of the whole world by name.
struct World {
  std::vector<CostedProgram> programs;  // by rank
  std::vector<models::Communicator> communicators;
};

/// Puts the time of `costs[rank]` on every operation of `programs[rank]`, and of `exchanges` on
/// every step of a collective: the longer of receiving and sending, and the reduction of what was
/// received where the schedule asks for one. The programs must outlive the result. Adds what the
/// profile lacks to `faults`; the result is then of no use.
[[nodiscard]] World cost_world(std::span<const models::Program> programs,
                               std::span<KernelCost> costs, ExchangeCost& exchanges,
                               FaultSet& faults);

/// Which bar of a rank's timeline an operation's own time belongs to.
[[nodiscard]] core::TimelinePhase timeline_phase(core::Phase phase);

}  // namespace paceline::sim
