#include "models/schedules/double_tree.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace paceline::models {
namespace {

int in_order_parent(int member, int size) {
  if (member == 0) return Tree::none;
  const int bit = member & -member;
  const int up = (member ^ bit) | (2 * bit);
  return up < size ? up : member ^ bit;
}

/// The in-order tree under the names that `name_of` gives to its places.
template <class NameOf>
Tree in_order_tree(int size, NameOf name_of) {
  Tree tree;
  tree.parent.assign(static_cast<std::size_t>(size), Tree::none);
  tree.children.assign(static_cast<std::size_t>(size), {Tree::none, Tree::none});
  tree.root = name_of(0);
  for (int place = 1; place < size; ++place) {
    const int member = name_of(place);
    const int parent = name_of(in_order_parent(place, size));
    tree.parent[static_cast<std::size_t>(member)] = parent;
    auto& children = tree.children[static_cast<std::size_t>(parent)];
    children[children[0] == Tree::none ? 0 : 1] = member;
  }
  return tree;
}

}  // namespace

int Tree::height() const {
  int most = 0;
  for (std::size_t member = 0; member < parent.size(); ++member) {
    int edges = 0;
    for (int at = parent[member]; at != none; at = parent[static_cast<std::size_t>(at)]) ++edges;
    most = std::max(most, edges);
  }
  return most;
}

std::array<Tree, 2> double_binary_tree(int size) {
  if (size < 1) {
    throw core::InvariantError("a double tree of " + std::to_string(size) +
                               " members (must be >= 1)");
  }
  return {in_order_tree(size, [](int place) { return place; }), in_order_tree(size, [&](int place) {
            return size % 2 == 0 ? size - 1 - place : (place + 1) % size;
          })};
}

}  // namespace paceline::models
