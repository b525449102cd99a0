#include "sim/simulation/collective_board.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace paceline::sim {

CollectiveBoard::CollectiveBoard(const std::vector<Size>& sizes, std::uint32_t steps)
    : sizes_(sizes) {
  std::size_t next_place = 0;
  for (const Size& size : sizes_) {
    first_instance_.push_back(meetings_.size());
    for (std::uint32_t i = 0; i < steps * size.collectives; ++i) {
      meetings_.push_back({.first_place = next_place, .members = size.members});
      next_place += size.members;
    }
  }
  places_.resize(next_place);
}

CollectiveInstance CollectiveBoard::instance(std::uint32_t communicator, std::uint32_t step,
                                             std::uint32_t sequence) const {
  const std::size_t in_communicator =
      std::size_t{step} * sizes_[communicator].collectives + sequence;
  return static_cast<CollectiveInstance>(first_instance_[communicator] + in_communicator);
}

std::optional<std::uint32_t> CollectiveBoard::post(Place& place) {
  const std::uint32_t posted_step = place.posted++;
  if (place.waiting == nobody || place.awaited_step != posted_step) return std::nullopt;
  return std::exchange(place.waiting, nobody);
}

std::optional<std::uint32_t> CollectiveBoard::arrive(CollectiveInstance instance,
                                                     std::uint32_t member, core::Time now) {
  Place& mine = place(instance, member);
  mine.arrived = now;
  Meeting& meeting = meetings_[instance];
  ++meeting.arrived;
  meeting.last_arrival = std::max(meeting.last_arrival, now);
  return post(mine);
}

std::optional<std::uint32_t> CollectiveBoard::post_next(CollectiveInstance instance,
                                                        std::uint32_t member) {
  return post(place(instance, member));
}

void CollectiveBoard::await(CollectiveInstance instance, std::uint32_t member,
                            std::uint32_t ring_step, std::uint32_t rank) {
  Place& theirs = place(instance, member);
  if (theirs.waiting != nobody) {
    throw core::InvariantError("ranks " + std::to_string(theirs.waiting) + " and " +
                               std::to_string(rank) + " wait for one message");
  }
  theirs.waiting = rank;
  theirs.awaited_step = ring_step;
}

void CollectiveBoard::leave(CollectiveInstance instance, std::uint32_t member, core::Time now) {
  place(instance, member).left = now;
}

std::optional<core::Time> CollectiveBoard::last_arrival(CollectiveInstance instance) const {
  const Meeting& meeting = meetings_[instance];
  if (meeting.arrived < meeting.members) return std::nullopt;
  return meeting.last_arrival;
}

core::Time CollectiveBoard::end(CollectiveInstance instance) const {
  core::Time latest;
  for (std::uint32_t member = 0; member < meetings_[instance].members; ++member) {
    latest = std::max(latest, place(instance, member).left);
  }
  return latest;
}

}  // namespace paceline::sim
