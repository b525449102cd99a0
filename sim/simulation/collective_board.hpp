#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"

namespace paceline::sim {

/// One collective of one training step, among all that are simulated.
using CollectiveInstance = std::uint32_t;

/// Where members of collectives meet: who has arrived, how far each has come, when it left.
/// A member posts its ring step s when it has ended step s − 1, its first when it arrives. Posting
/// returns the rank that waits for just that, if one does.
class CollectiveBoard {
 public:
  struct Size {
    std::uint32_t members = 0;
    std::uint32_t collectives = 0;  // of one training step
  };
  /// Room for `steps` training steps of every communicator in `sizes`.
  CollectiveBoard(const std::vector<Size>& sizes, std::uint32_t steps);

  [[nodiscard]] CollectiveInstance instance(std::uint32_t communicator, std::uint32_t step,
                                            std::uint32_t sequence) const;

  std::optional<std::uint32_t> arrive(CollectiveInstance instance, std::uint32_t member,
                                      core::Time now);
  std::optional<std::uint32_t> post_next(CollectiveInstance instance, std::uint32_t member);
  /// `rank` waits until `member` posts `ring_step`. Throws `core::InvariantError` if another does.
  void await(CollectiveInstance instance, std::uint32_t member, std::uint32_t ring_step,
             std::uint32_t rank);
  void leave(CollectiveInstance instance, std::uint32_t member, core::Time now);

  [[nodiscard]] bool has_posted(CollectiveInstance instance, std::uint32_t member,
                                std::uint32_t ring_step) const {
    return place(instance, member).posted > ring_step;
  }
  /// Empty until all members have arrived.
  [[nodiscard]] std::optional<core::Time> last_arrival(CollectiveInstance instance) const;
  [[nodiscard]] core::Time arrived_at(CollectiveInstance instance, std::uint32_t member) const {
    return place(instance, member).arrived;
  }
  [[nodiscard]] core::Time left_at(CollectiveInstance instance, std::uint32_t member) const {
    return place(instance, member).left;
  }
  /// Latest of all members' ends.
  [[nodiscard]] core::Time end(CollectiveInstance instance) const;

 private:
  static constexpr std::uint32_t nobody = UINT32_MAX;
  struct Place {
    std::uint32_t posted = 0;        // ring steps
    std::uint32_t waiting = nobody;  // rank
    std::uint32_t awaited_step = 0;  // that it waits for
    core::Time arrived;
    core::Time left;
  };
  struct Meeting {
    std::size_t first_place = 0;
    std::uint32_t members = 0;
    std::uint32_t arrived = 0;
    core::Time last_arrival{};
  };
  [[nodiscard]] const Place& place(CollectiveInstance instance, std::uint32_t member) const {
    return places_[meetings_[instance].first_place + member];
  }
  [[nodiscard]] Place& place(CollectiveInstance instance, std::uint32_t member) {
    return places_[meetings_[instance].first_place + member];
  }

  [[nodiscard]] static std::optional<std::uint32_t> post(Place& place);

  std::vector<Size> sizes_;
  std::vector<std::size_t> first_instance_;  // by communicator
  std::vector<Meeting> meetings_;
  std::vector<Place> places_;
};

}  // namespace paceline::sim
