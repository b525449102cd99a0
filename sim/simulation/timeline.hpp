#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "core/vocabulary.hpp"

namespace paceline::sim {

/// What a rank's core did between two instants.
enum class Activity : std::uint8_t {
  operation,   // host issue and kernel
  host_issue,  // of a collective on the compute stream
  ring_step,   // exchange and reduction
  wait         // for a neighbour's message, core idle
};

struct Segment {
  core::Time begin;
  core::Time end;
  std::uint32_t step = 0;
  std::uint32_t operation = 0;
  std::uint32_t ring_step = 0;
  Activity activity = Activity::operation;
  core::TimelinePhase phase = core::TimelinePhase::other;
};

using PhaseSums = core::PerEnum<core::TimelinePhase, core::Time>;

/// What one rank did: begin and end of each step, the time of each phase in it, and, where asked
/// for, every segment. Segments are added in order and without gaps, so that phases partition the
/// step by construction; a gap is an error.
class Timeline {
 public:
  enum class Keep : std::uint8_t { sums, segments };

  Timeline(std::uint32_t steps, std::size_t segments, Keep keep);

  /// Adds from where the last segment ended to `end`.
  void add(Activity activity, core::TimelinePhase phase, std::uint32_t operation,
           std::uint32_t ring_step, core::Time end);
  /// The running step ends where its last segment did; the next begins.
  void end_step();

  [[nodiscard]] std::uint32_t steps() const { return static_cast<std::uint32_t>(ends_.size()); }
  [[nodiscard]] core::Time begin_of(std::uint32_t step) const {
    return step == 0 ? core::Time{} : ends_[step - 1];
  }
  [[nodiscard]] core::Time end_of(std::uint32_t step) const { return ends_[step]; }
  [[nodiscard]] core::Time period(std::uint32_t step) const {
    return end_of(step) - begin_of(step);
  }
  [[nodiscard]] const PhaseSums& phases(std::uint32_t step) const { return phases_[step]; }
  /// Where the last segment ended.
  [[nodiscard]] core::Time now() const { return now_; }
  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

 private:
  Keep keep_;
  core::Time now_;
  std::vector<core::Time> ends_;
  std::vector<PhaseSums> phases_;
  std::vector<Segment> segments_;
};

}  // namespace paceline::sim
