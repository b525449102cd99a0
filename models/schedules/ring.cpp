#include "models/schedules/ring.hpp"

#include <algorithm>

#include "core/error.hpp"
#include "models/schedules/schedule.hpp"

namespace paceline::models {

std::vector<ScheduleStep> ring_all_reduce(int position, int size, std::int64_t elements) {
  if (size < 1 || position < 0 || position >= size || elements < 0) {
    throw core::InvariantError("ring of " + std::to_string(size) + " members, position " +
                               std::to_string(position) + ", " + std::to_string(elements) +
                               " elements (position must lie in the ring)");
  }
  std::vector<ScheduleStep> steps;
  const auto wrapped = [size](int slice) { return ((slice % size) + size) % size; };
  for (int step = 0; step < 2 * (size - 1); ++step) {
    const bool reducing = step < size - 1;
    const int turn = reducing ? step : step - (size - 1);
    // Reduce-scatter ends with member p holding the sum of slice p + 1; all-gather passes it on.
    const int sent = wrapped(reducing ? position - turn : position + 1 - turn);
    const int received = wrapped(sent - 1);
    ScheduleStep entry;
    entry.send_to = wrapped(position + 1);
    entry.send_offset = slice_begin(sent, size, elements);
    entry.send_elements = slice_begin(sent + 1, size, elements) - entry.send_offset;
    entry.receive_from = wrapped(position - 1);
    entry.receive_offset = slice_begin(received, size, elements);
    entry.receive_elements = slice_begin(received + 1, size, elements) - entry.receive_offset;
    entry.received = reducing ? ScheduleStep::Received::reduced : ScheduleStep::Received::copied;
    steps.push_back(entry);
  }
  return steps;
}

std::int64_t ring_slice_elements(int size, std::int64_t elements) {
  std::int64_t largest = 0;
  for (int slice = 0; slice < size; ++slice) {
    largest = std::max(largest,
                       slice_begin(slice + 1, size, elements) - slice_begin(slice, size, elements));
  }
  return largest;
}

}  // namespace paceline::models
