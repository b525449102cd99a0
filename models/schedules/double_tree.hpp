#pragma once

#include <array>
#include <vector>

namespace paceline::models {

/// A rooted tree over members 0 … size − 1.
struct Tree {
  static constexpr int none = -1;
  int root = 0;
  std::vector<int> parent;                   // `none` at the root
  std::vector<std::array<int, 2>> children;  // `none` where there is no child

  /// Edges from a member to the root, at most.
  [[nodiscard]] int height() const;
};

/// Two binary trees over the same members: who has children in the one has none in the other, but
/// for one member where the number is odd, so each carries half of the data and nobody's port is
/// asked for more than twice its share. Height at most ⌈log2 size⌉.
/// The first is the in-order tree (the parent of a member clears its lowest set bit and sets the
/// next, or only clears it where that would lie outside), the second its mirror image (even size)
/// or the first shifted by one member (odd size).
/// Source: Sanders, Speck and Träff 2009, "Two-tree algorithms for full bandwidth broadcast,
/// reduction and scan"; NCCL's rule. Throws `core::InvariantError` if size < 1.
[[nodiscard]] std::array<Tree, 2> double_binary_tree(int size);

}  // namespace paceline::models
