#pragma once

#include <cstdint>
#include <vector>

namespace paceline::models {

/// One step of one member of a collective: send a slice to one member while receiving a slice from
/// another, or only one of the two; then add the received slice to the own buffer, or copy it
/// there.
struct ScheduleStep {
  enum class Received : std::uint8_t { reduced, copied };
  static constexpr int nobody = -1;
  static constexpr int at_once = -1;

  int send_to = nobody;  // position in the communicator
  std::int64_t send_offset = 0;
  std::int64_t send_elements = 0;
  int receive_from = nobody;
  std::int64_t receive_offset = 0;
  std::int64_t receive_elements = 0;
  Received received = Received::reduced;
  /// Steps of one lane are done in order, lanes side by side.
  int lane = 0;
  /// Index of a step of the same member that must have ended too.
  int after = at_once;
};

/// Ring all-reduce (reduce-scatter, then all-gather) of `elements` over `size` members, as member
/// `position` executes it: 2(size − 1) steps, each passing one of `size` slices to the next member.
/// A slice i covers elements [elements·i/size, elements·(i+1)/size). Empty for size 1.
/// Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms".
[[nodiscard]] std::vector<ScheduleStep> ring_all_reduce(int position, int size,
                                                        std::int64_t elements);

/// Largest slice of the ring: elements of the receive buffer that a member needs.
[[nodiscard]] std::int64_t ring_slice_elements(int size, std::int64_t elements);

}  // namespace paceline::models
