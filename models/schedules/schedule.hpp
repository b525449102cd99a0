#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/vocabulary.hpp"
#include "models/schedules/ring.hpp"

namespace paceline::models {

/// A collective as every member executes it. Steps of one lane of a member are done in order, lanes
/// side by side; a step with `after` also waits for that step of the same member. What a lane of
/// one member sends another, the same lane of the other receives, in the order in which it was
/// sent. A step sends what the buffer holds when it starts, and ends when it has received.
///
/// Slice i of n covers elements [E·i/n, E·(i+1)/n). What a member has before and after:
///
/// | kind | before | after |
/// |---|---|---|
/// | all_reduce | E own elements | the sum of all members' |
/// | reduce_scatter | E own elements | slice p of the sum; other slices are undefined |
/// | all_gather | slice p | all slices |
/// | broadcast | E elements at the root | the root's |
/// | all_to_all | slice j for member j | slice i from member i, in a second buffer |
/// | point_to_point | E elements at member 0 | the same at member 1 |
///
/// In an all_to_all members send from the first buffer and receive into the second, at the slice of
/// the sender (slices must be equal: E is a multiple of n); the own slice is copied without a step.
struct Schedule {
  core::CollectiveKind kind = core::CollectiveKind::all_reduce;
  core::CollectiveAlgorithm algorithm = core::CollectiveAlgorithm::ring;
  std::int64_t elements = 0;
  int root = 0;
  std::vector<std::vector<ScheduleStep>> members;
};

struct ScheduleOptions {
  int root = 0;
  /// Pieces in which a tree, or a broadcast along the ring, passes on what it carries.
  int chunks = 1;
  /// Members of a node, for `hierarchical`: positions k·group … k·group + group − 1.
  int group = 1;
};

/// Kinds by algorithm: ring: all but all_to_all and point_to_point; tree (double binary):
/// all_reduce and broadcast; recursive_halving_doubling: all_reduce, reduce_scatter and all_gather,
/// any number of members; hierarchical: all_reduce (ring reduce-scatter in each group, ring
/// all-reduce between members of equal place, ring all-gather in each group); pairwise: all_to_all
/// and point_to_point. Sources: Patarasuk and Yuan 2009 (ring); Rabenseifner 2004 (halving and
/// doubling; members beyond a power of two lend their data to a neighbour); Sanders, Speck and
/// Träff 2009 (double tree).
///
/// Throws `core::InvariantError` for another pair, size < 1, elements < 0, a root outside, chunks
/// < 1, a group that does not divide the size, an all_to_all whose slices differ.
[[nodiscard]] Schedule make_schedule(core::CollectiveKind kind, core::CollectiveAlgorithm algorithm,
                                     int size, std::int64_t elements, ScheduleOptions options = {});

/// First element of slice `slice` of `size`.
[[nodiscard]] std::int64_t slice_begin(int slice, int size, std::int64_t elements);

/// Elements that all members send together: with E elements and n members 2(n − 1)E for an
/// all_reduce by ring, tree or hierarchy and, for n = 2^k, by halving and doubling; (n − 1)E for
/// the other kinds; point_to_point E.
[[nodiscard]] std::int64_t sent_elements(const Schedule& schedule);

/// Executes the schedule on vectors of 64-bit integers and compares with the definition of its
/// kind. Empty if every member ends with what it must have; else what is wrong: a wrong element, a
/// receive that does not match what was sent, something sent that nobody receives, or members that
/// wait for each other for ever.
[[nodiscard]] std::optional<std::string> schedule_fault(const Schedule& schedule);

}  // namespace paceline::models
