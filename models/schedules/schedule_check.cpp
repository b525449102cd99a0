#include <deque>
#include <map>
#include <tuple>

#include "models/schedules/schedule.hpp"

namespace paceline::models {
namespace {

using core::CollectiveKind;
/// Sums wrap around, as unsigned integers do.
using Buffer = std::vector<std::uint64_t>;

/// Different for every member and element, by SplitMix64: a wrong sum of such numbers equals the
/// right one with a probability of 2^-64.
std::uint64_t value_of(int member, std::int64_t element) {
  std::uint64_t x = static_cast<std::uint64_t>(member) * 0x9E3779B97F4A7C15ULL +
                    static_cast<std::uint64_t>(element) * 0xD1B54A32D192ED03ULL + 1;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

class Execution {
 public:
  explicit Execution(const Schedule& schedule)
      : schedule_(schedule), size_(static_cast<int>(schedule.members.size())) {
    for (int member = 0; member < size_; ++member) begin(member);
  }

  [[nodiscard]] std::optional<std::string> run() {
    for (bool moved = true; moved && !fault_;) {
      moved = false;
      for (int member = 0; member < size_ && !fault_; ++member) moved |= advance(member);
    }
    if (!fault_) check_ended();
    for (int member = 0; member < size_ && !fault_; ++member) check_result(member);
    return fault_;
  }

 private:
  struct Message {
    std::int64_t offset = 0;
    Buffer data;
  };
  struct Member {
    Buffer own, received;  // the second only in an all_to_all
    std::vector<bool> started, ended;
    std::map<int, std::vector<std::size_t>> lanes;  // indices of steps
    std::map<int, std::size_t> next;
  };

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> slice(int index) const {
    return {slice_begin(index, size_, schedule_.elements),
            slice_begin(index + 1, size_, schedule_.elements)};
  }
  [[nodiscard]] bool exchanges() const { return schedule_.kind == CollectiveKind::all_to_all; }
  [[nodiscard]] bool has_at_first(int member, std::int64_t element) const {
    switch (schedule_.kind) {
      case CollectiveKind::all_gather: {
        const auto [first, last] = slice(member);
        return element >= first && element < last;
      }
      case CollectiveKind::broadcast:
        return member == schedule_.root;
      case CollectiveKind::point_to_point:
        return member == 0;
      default:
        return true;
    }
  }

  void begin(int index) {
    Member member;
    for (std::int64_t i = 0; i < schedule_.elements; ++i) {
      member.own.push_back(has_at_first(index, i) ? value_of(index, i) : ~value_of(index, i));
    }
    if (exchanges()) {
      member.received.assign(member.own.size(), 0);
      const auto [first, last] = slice(index);
      for (std::int64_t i = first; i < last; ++i) {
        member.received[static_cast<std::size_t>(i)] = member.own[static_cast<std::size_t>(i)];
      }
    }
    const auto& steps = schedule_.members[static_cast<std::size_t>(index)];
    member.started.assign(steps.size(), false);
    member.ended.assign(steps.size(), false);
    for (std::size_t i = 0; i < steps.size(); ++i) member.lanes[steps[i].lane].push_back(i);
    members_.push_back(std::move(member));
  }

  [[nodiscard]] std::string place(int member, std::size_t step) const {
    return "member " + std::to_string(member) + ", step " + std::to_string(step);
  }
  [[nodiscard]] bool inside(std::int64_t offset, std::int64_t count) const {
    return offset >= 0 && count >= 0 && offset <= schedule_.elements - count;
  }

  bool advance(int index) {
    bool moved = false;
    Member& member = members_[static_cast<std::size_t>(index)];
    for (auto& [lane, steps] : member.lanes) {
      std::size_t& next = member.next[lane];
      while (next < steps.size() && !fault_ && try_step(index, steps[next])) {
        ++next;
        moved = true;
      }
    }
    return moved;
  }

  /// Whether the step has ended.
  bool try_step(int index, std::size_t at) {
    Member& member = members_[static_cast<std::size_t>(index)];
    const ScheduleStep& step = schedule_.members[static_cast<std::size_t>(index)][at];
    if (step.after != ScheduleStep::at_once) {
      if (step.after < 0 || static_cast<std::size_t>(step.after) >= member.ended.size()) {
        fault_ = place(index, at) + " waits for step " + std::to_string(step.after) +
                 ", which is not there";
        return false;
      }
      if (!member.ended[static_cast<std::size_t>(step.after)]) return false;
    }
    if (!inside(step.send_offset, step.send_elements) ||
        !inside(step.receive_offset, step.receive_elements) || step.send_to >= size_ ||
        step.receive_from >= size_) {
      fault_ = place(index, at) + " leaves the buffer or the communicator";
      return false;
    }
    if (!member.started[at] && step.send_to != ScheduleStep::nobody) {
      const auto first = member.own.begin() + static_cast<std::ptrdiff_t>(step.send_offset);
      wire_[{index, step.send_to, step.lane}].push_back(
          {step.send_offset,
           Buffer(first, first + static_cast<std::ptrdiff_t>(step.send_elements))});
    }
    member.started[at] = true;
    if (step.receive_from != ScheduleStep::nobody && !receive(index, at, step)) return false;
    member.ended[at] = true;
    return true;
  }

  bool receive(int index, std::size_t at, const ScheduleStep& step) {
    auto& queue = wire_[{step.receive_from, index, step.lane}];
    if (queue.empty()) return false;
    const Message message = std::move(queue.front());
    queue.pop_front();
    // In an all_to_all the sender's slice for me becomes my slice from him.
    const std::int64_t expected = exchanges() ? slice(index).first : step.receive_offset;
    if (message.offset != expected ||
        static_cast<std::int64_t>(message.data.size()) != step.receive_elements) {
      fault_ = place(index, at) + " receives " + std::to_string(message.data.size()) +
               " elements from " + std::to_string(message.offset) + " on, and expects " +
               std::to_string(step.receive_elements) + " from " + std::to_string(expected) + " on";
      return false;
    }
    Member& member = members_[static_cast<std::size_t>(index)];
    Buffer& buffer = exchanges() ? member.received : member.own;
    for (std::size_t i = 0; i < message.data.size(); ++i) {
      std::uint64_t& element = buffer[static_cast<std::size_t>(step.receive_offset) + i];
      const bool adds = step.received == ScheduleStep::Received::reduced;
      element = (adds ? element : 0) + message.data[i];
    }
    return true;
  }

  void check_ended() {
    for (int member = 0; member < size_; ++member) {
      const auto& ended = members_[static_cast<std::size_t>(member)].ended;
      for (std::size_t i = 0; i < ended.size(); ++i) {
        if (ended[i]) continue;
        const ScheduleStep& step = schedule_.members[static_cast<std::size_t>(member)][i];
        fault_ = place(member, i) + " waits for ever" +
                 (step.receive_from == ScheduleStep::nobody
                      ? std::string()
                      : " for member " + std::to_string(step.receive_from));
        return;
      }
    }
    for (const auto& [way, queue] : wire_) {
      if (queue.empty()) continue;
      fault_ = "member " + std::to_string(std::get<0>(way)) + " sends member " +
               std::to_string(std::get<1>(way)) + " what it does not receive";
      return;
    }
  }

  [[nodiscard]] std::uint64_t wanted(int member, std::int64_t element) const {
    switch (schedule_.kind) {
      case CollectiveKind::all_reduce:
      case CollectiveKind::reduce_scatter: {
        std::uint64_t sum = 0;
        for (int other = 0; other < size_; ++other) sum += value_of(other, element);
        return sum;
      }
      case CollectiveKind::all_gather: {
        int owner = 0;
        while (slice(owner).second <= element) ++owner;
        return value_of(owner, element);
      }
      case CollectiveKind::broadcast:
        return value_of(schedule_.root, element);
      case CollectiveKind::all_to_all: {
        const std::int64_t each = schedule_.elements / size_;
        const auto from = static_cast<int>(element / each);
        return value_of(from, member * each + element % each);
      }
      case CollectiveKind::point_to_point:
        return value_of(0, element);
    }
    return 0;
  }

  void check_result(int member) {
    std::int64_t first = 0;
    std::int64_t last = schedule_.elements;
    if (schedule_.kind == CollectiveKind::reduce_scatter) std::tie(first, last) = slice(member);
    const Member& has = members_[static_cast<std::size_t>(member)];
    const Buffer& buffer = exchanges() ? has.received : has.own;
    for (std::int64_t i = first; i < last; ++i) {
      if (buffer[static_cast<std::size_t>(i)] == wanted(member, i)) continue;
      fault_ =
          "member " + std::to_string(member) + " ends with a wrong element " + std::to_string(i);
      return;
    }
  }

  const Schedule& schedule_;
  int size_;
  std::vector<Member> members_;
  std::map<std::tuple<int, int, int>, std::deque<Message>> wire_;  // from, to, lane
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> schedule_fault(const Schedule& schedule) {
  return Execution(schedule).run();
}

}  // namespace paceline::models
