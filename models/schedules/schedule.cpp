#include "models/schedules/schedule.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/error.hpp"
#include "models/schedules/double_tree.hpp"

namespace paceline::models {
namespace {

using core::CollectiveAlgorithm;
using core::CollectiveKind;
using Received = ScheduleStep::Received;

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

Range slice_of(Range whole, int slice, int size) {
  return {whole.begin + slice_begin(slice, size, whole.size()),
          whole.begin + slice_begin(slice + 1, size, whole.size())};
}

class Builder {
 public:
  Builder(Schedule& schedule, ScheduleOptions options)
      : schedule_(schedule),
        options_(options),
        size_(static_cast<int>(schedule.members.size())),
        whole_{0, schedule.elements} {}

  void ring();
  void chain_broadcast();
  void tree();
  void halving_doubling();
  void hierarchical();
  void pairwise();

 private:
  [[nodiscard]] std::vector<ScheduleStep>& steps(int member) {
    return schedule_.members[static_cast<std::size_t>(member)];
  }
  int add(int member, const ScheduleStep& step) {
    steps(member).push_back(step);
    return static_cast<int>(steps(member).size()) - 1;
  }
  static void set_send(ScheduleStep& step, int to, Range range) {
    step.send_to = to;
    step.send_offset = range.begin;
    step.send_elements = range.size();
  }
  static void set_receive(ScheduleStep& step, int from, Range range, Received how) {
    step.receive_from = from;
    step.receive_offset = range.begin;
    step.receive_elements = range.size();
    step.received = how;
  }
  /// Both ends of one transfer, each a step of its own. Returns the index of the sender's.
  int pass(int from, int to, Range range, Received how, int lane = 0) {
    ScheduleStep out;
    set_send(out, to, range);
    out.lane = lane;
    const int index = add(from, out);
    ScheduleStep in;
    set_receive(in, from, range, how);
    in.lane = lane;
    add(to, in);
    return index;
  }
  /// `steps_count` steps of a ring over `members`: in step s, place p passes slice p + first − s.
  void turn_ring(const std::vector<int>& members, Range range, int first, Received how);
  void exchange_halves(int mask, int powers, bool halving);
  void tree_chunk(const Tree& tree, int lane, Range range, std::vector<int>& up_end);

  [[nodiscard]] int member_of(int place) const {
    return place < lent_ ? 2 * place + 1 : place + lent_;
  }
  [[nodiscard]] Range places(int first, int count) const;

  Schedule& schedule_;
  ScheduleOptions options_;
  int size_;
  Range whole_;
  int lent_ = 0;  // members beyond a power of two
};

void Builder::turn_ring(const std::vector<int>& members, Range range, int first, Received how) {
  const auto size = static_cast<int>(members.size());
  const auto wrapped = [size](int place) { return ((place % size) + size) % size; };
  const auto member = [&](int place) { return members[static_cast<std::size_t>(wrapped(place))]; };
  for (int turn = 0; turn + 1 < size; ++turn) {
    for (int place = 0; place < size; ++place) {
      const int sent = wrapped(place + first - turn);
      ScheduleStep step;
      set_send(step, member(place + 1), slice_of(range, sent, size));
      set_receive(step, member(place - 1), slice_of(range, wrapped(sent - 1), size), how);
      add(member(place), step);
    }
  }
}

void Builder::ring() {
  std::vector<int> members(static_cast<std::size_t>(size_));
  for (int i = 0; i < size_; ++i) members[static_cast<std::size_t>(i)] = i;
  switch (schedule_.kind) {
    case CollectiveKind::all_reduce:
      turn_ring(members, whole_, 0, Received::reduced);
      turn_ring(members, whole_, 1, Received::copied);
      break;
    case CollectiveKind::reduce_scatter:  // ends with slice p in place p
      turn_ring(members, whole_, -1, Received::reduced);
      break;
    case CollectiveKind::all_gather:
      turn_ring(members, whole_, 0, Received::copied);
      break;
    default:
      chain_broadcast();
  }
}

/// Chunks take turns on two lanes: one comes in while the one before goes out. A chunk goes out
/// after the one before.
void Builder::chain_broadcast() {
  std::vector<int> last_out(static_cast<std::size_t>(size_), ScheduleStep::at_once);
  for (int chunk = 0; chunk < options_.chunks; ++chunk) {
    const Range range = slice_of(whole_, chunk, options_.chunks);
    for (int place = 0; place + 1 < size_; ++place) {
      const int from = (options_.root + place) % size_;
      const int out = pass(from, (from + 1) % size_, range, Received::copied, chunk % 2);
      int& before = last_out[static_cast<std::size_t>(from)];
      steps(from)[static_cast<std::size_t>(out)].after = before;
      before = out;
    }
  }
}

/// Lanes of a tree: reductions go up in `lane`, results down in `lane` + 1.
void Builder::tree_chunk(const Tree& tree, int lane, Range range, std::vector<int>& up_end) {
  const bool reduces = schedule_.kind == CollectiveKind::all_reduce;
  const auto children = [&](int member) { return tree.children[static_cast<std::size_t>(member)]; };
  std::vector<int> downwards{tree.root};  // parents before children
  for (std::size_t i = 0; i < downwards.size(); ++i) {
    for (const int child : children(downwards[i])) {
      if (child != Tree::none) downwards.push_back(child);
    }
  }
  for (auto at = downwards.rbegin(); reduces && at != downwards.rend(); ++at) {
    for (const int child : children(*at)) {
      if (child == Tree::none) continue;
      ScheduleStep in;
      set_receive(in, child, range, Received::reduced);
      in.lane = lane;
      up_end[static_cast<std::size_t>(*at)] = add(*at, in);
    }
    const int parent = tree.parent[static_cast<std::size_t>(*at)];
    if (parent == Tree::none) continue;
    ScheduleStep out;
    set_send(out, parent, range);
    out.lane = lane;
    up_end[static_cast<std::size_t>(*at)] = add(*at, out);
  }
  for (const int member : downwards) {
    const int parent = tree.parent[static_cast<std::size_t>(member)];
    if (parent != Tree::none) {
      ScheduleStep in;
      set_receive(in, parent, range, Received::copied);
      in.lane = lane + 1;
      in.after = up_end[static_cast<std::size_t>(member)];
      add(member, in);
    }
    for (const int child : children(member)) {
      if (child == Tree::none) continue;
      ScheduleStep out;
      set_send(out, child, range);
      out.lane = lane + 1;
      if (parent == Tree::none) out.after = up_end[static_cast<std::size_t>(member)];
      add(member, out);
    }
  }
}

void Builder::tree() {
  auto trees = double_binary_tree(size_);
  if (schedule_.kind == CollectiveKind::broadcast) {
    // Both trees are turned until the root is theirs.
    for (Tree& tree : trees) {
      const int shift = ((options_.root - tree.root) % size_ + size_) % size_;
      Tree moved = tree;
      const auto renamed = [&](int member) {
        return member == Tree::none ? Tree::none : (member + shift) % size_;
      };
      for (int member = 0; member < size_; ++member) {
        const auto from = static_cast<std::size_t>(member);
        const auto to = static_cast<std::size_t>(renamed(member));
        moved.parent[to] = renamed(tree.parent[from]);
        moved.children[to] = {renamed(tree.children[from][0]), renamed(tree.children[from][1])};
      }
      moved.root = options_.root;
      tree = std::move(moved);
    }
  }
  std::array<std::vector<int>, 2> up_end;
  up_end.fill(std::vector<int>(static_cast<std::size_t>(size_), ScheduleStep::at_once));
  for (int chunk = 0; chunk < options_.chunks; ++chunk) {
    for (int half = 0; half < 2; ++half) {
      const auto which = static_cast<std::size_t>(half);
      tree_chunk(trees.at(which), 2 * half,
                 slice_of(slice_of(whole_, half, 2), chunk, options_.chunks), up_end.at(which));
    }
  }
}

/// Elements of the slices of all members that stand behind the places [first, first + count).
Range Builder::places(int first, int count) const {
  const auto slices_before = [&](int place) { return place < lent_ ? 2 * place : place + lent_; };
  return {slice_begin(slices_before(first), size_, schedule_.elements),
          slice_begin(slices_before(first + count), size_, schedule_.elements)};
}

void Builder::exchange_halves(int mask, int powers, bool halving) {
  for (int place = 0; place < powers; ++place) {
    const int partner = place ^ mask;
    const Range own = places(place & ~(mask - 1), mask);  // that it keeps, or has
    const Range other = places(partner & ~(mask - 1), mask);
    ScheduleStep step;
    set_send(step, member_of(partner), halving ? other : own);
    set_receive(step, member_of(partner), halving ? own : other,
                halving ? Received::reduced : Received::copied);
    add(member_of(place), step);
  }
}

void Builder::halving_doubling() {
  const int powers = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_)));
  lent_ = size_ - powers;
  const bool reduces = schedule_.kind != CollectiveKind::all_gather;
  const bool gathers = schedule_.kind != CollectiveKind::reduce_scatter;
  const auto slice = [&](int member) { return slice_of(whole_, member, size_); };
  for (int pair = 0; pair < lent_; ++pair) {
    pass(2 * pair, 2 * pair + 1, reduces ? whole_ : slice(2 * pair),
         reduces ? Received::reduced : Received::copied);
  }
  for (int mask = powers / 2; reduces && mask > 0; mask /= 2) exchange_halves(mask, powers, true);
  for (int mask = 1; gathers && mask < powers; mask *= 2) exchange_halves(mask, powers, false);
  for (int pair = 0; pair < lent_; ++pair) {
    pass(2 * pair + 1, 2 * pair, gathers ? whole_ : slice(2 * pair), Received::copied);
  }
}

void Builder::hierarchical() {
  const int group = options_.group;
  const int groups = size_ / group;
  std::vector<std::vector<int>> inside(static_cast<std::size_t>(groups));
  std::vector<std::vector<int>> across(static_cast<std::size_t>(group));
  for (int member = 0; member < size_; ++member) {
    inside[static_cast<std::size_t>(member / group)].push_back(member);
    across[static_cast<std::size_t>(member % group)].push_back(member);
  }
  for (const auto& members : inside) turn_ring(members, whole_, -1, Received::reduced);
  for (int place = 0; place < group; ++place) {
    const Range range = slice_of(whole_, place, group);
    const auto& members = across[static_cast<std::size_t>(place)];
    turn_ring(members, range, 0, Received::reduced);
    turn_ring(members, range, 1, Received::copied);
  }
  for (const auto& members : inside) turn_ring(members, whole_, 0, Received::copied);
}

void Builder::pairwise() {
  if (schedule_.kind == CollectiveKind::point_to_point) {
    pass(0, 1, whole_, Received::copied);
    return;
  }
  for (int distance = 1; distance < size_; ++distance) {
    for (int member = 0; member < size_; ++member) {
      const int to = (member + distance) % size_;
      const int from = (member - distance + size_) % size_;
      ScheduleStep step;
      set_send(step, to, slice_of(whole_, to, size_));
      set_receive(step, from, slice_of(whole_, from, size_), Received::copied);
      add(member, step);
    }
  }
}

bool knows(CollectiveAlgorithm algorithm, CollectiveKind kind) {
  const bool exchange =
      kind == CollectiveKind::all_to_all || kind == CollectiveKind::point_to_point;
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      return !exchange;
    case CollectiveAlgorithm::tree:
      return kind == CollectiveKind::all_reduce || kind == CollectiveKind::broadcast;
    case CollectiveAlgorithm::recursive_halving_doubling:
      return !exchange && kind != CollectiveKind::broadcast;
    case CollectiveAlgorithm::hierarchical:
      return kind == CollectiveKind::all_reduce;
    case CollectiveAlgorithm::pairwise:
      return exchange;
    default:
      return false;
  }
}

void check(CollectiveKind kind, CollectiveAlgorithm algorithm, int size, std::int64_t elements,
           const ScheduleOptions& options) {
  const std::string what =
      std::string(core::spelling(kind)) + " by " + std::string(core::spelling(algorithm)) +
      " over " + std::to_string(size) + " members and " + std::to_string(elements) + " elements";
  const auto refuse = [&](const std::string& why) {
    throw core::InvariantError(what + " has no schedule (" + why + ")");
  };
  if (!knows(algorithm, kind)) refuse("that algorithm does not do that kind");
  if (size < 1 || elements < 0) refuse("members must be >= 1, elements >= 0");
  if (options.root < 0 || options.root >= size) {
    refuse("root " + std::to_string(options.root) + " must be a member");
  }
  if (options.chunks < 1) refuse("chunks must be >= 1, got " + std::to_string(options.chunks));
  if (options.group < 1 || size % options.group != 0) {
    refuse("a group of " + std::to_string(options.group) + " must divide the members");
  }
  if (kind == CollectiveKind::all_to_all && elements % size != 0) {
    refuse("elements must be a multiple of the members");
  }
  if (kind == CollectiveKind::point_to_point && size != 2) refuse("members must be 2");
}

}  // namespace

std::int64_t slice_begin(int slice, int size, std::int64_t elements) {
  return elements / size * slice + elements % size * slice / size;
}

Schedule make_schedule(CollectiveKind kind, CollectiveAlgorithm algorithm, int size,
                       std::int64_t elements, ScheduleOptions options) {
  check(kind, algorithm, size, elements, options);
  Schedule schedule;
  schedule.kind = kind;
  schedule.algorithm = algorithm;
  schedule.elements = elements;
  schedule.root = options.root;
  schedule.members.resize(static_cast<std::size_t>(size));
  if (size == 1) return schedule;
  Builder builder(schedule, options);
  switch (algorithm) {
    case CollectiveAlgorithm::ring:
      builder.ring();
      break;
    case CollectiveAlgorithm::tree:
      builder.tree();
      break;
    case CollectiveAlgorithm::recursive_halving_doubling:
      builder.halving_doubling();
      break;
    case CollectiveAlgorithm::hierarchical:
      builder.hierarchical();
      break;
    default:
      builder.pairwise();
  }
  return schedule;
}

std::int64_t sent_elements(const Schedule& schedule) {
  std::int64_t sent = 0;
  for (const auto& steps : schedule.members) {
    for (const ScheduleStep& step : steps) sent += step.send_elements;
  }
  return sent;
}

}  // namespace paceline::models
