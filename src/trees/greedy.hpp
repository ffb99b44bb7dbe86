#pragma once
// Laying a tree onto the network one vertex at a time: each child takes the free node that is closest to its parent
// (Subramoni et al., IV-B).

#include <cstdint>
#include <span>
#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

/// Free nodes, class by class, in the natural order from the root on.
class FreeNodes {
 public:
  /// All nodes but the layout's root. `distances` outlives it.
  FreeNodes(const topology::Distances& distances, const Layout& layout);

  /// Takes the free node to which a message of `bytes` from node `from` gets first. Of equally close ones the one that
  /// is closest to everybody else, since it is to hand on; then the first in natural order. There must be one.
  /// O(classes that have free nodes), but O(1) while the class that was closest to `from`'s class still is.
  int take_closest_to(int from, Bytes bytes);

 private:
  /// A class with free nodes. Among equally close ones the least rank goes first: remoteness above, place of its next
  /// node in natural order below. Ranks only grow.
  struct Class {
    int number;
    std::uint64_t rank;
  };
  /// What was found closest to a class, and what no other one is better than.
  struct Found {
    Bytes bytes = 0;
    int number = -1;
    double delay = 0, next_delay = 0;
    std::uint64_t next_rank = 0;
  };

  const Found& find_closest_to(int from_class, Bytes bytes);
  bool still_holds(const Found& found, Bytes bytes) const;
  Found search(int from_class, Bytes bytes) const;
  int take_from(int of_class);

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  const topology::Distances& distances_;
  int root_;
  std::vector<int> first_;  ///< by class: its next free node, -1: none
  std::vector<int> next_;   ///< by node: the one of its class after it, -1: none
  std::vector<int> slot_;   ///< by class: where it is in free_
  std::vector<Class> free_;
  std::vector<Found> found_;  ///< by class
};

/// Positions are filled round by round: the larger its subtree, the earlier a position takes its node, so that fast and
/// near nodes get the positions that most others wait for. (The paper goes level by level; that would give the root's
/// last child, which serves nobody, a better node than its first child's children. Measured in simulation, giving fast
/// nodes out by position or level can be worse than the natural order.) `branches` are the layout's. O(nodes x classes)
/// at worst, and near O(nodes) where most edges stay within a class.
std::vector<int> derive_breadth_order(const topology::Distances& distances, const Layout& layout,
                                      std::span<const Branch> branches);

/// A position's first and largest subtree is filled before its next child takes a node: whole subtrees come to lie
/// close together, for instance on one switch. As long.
std::vector<int> derive_depth_order(const topology::Distances& distances, const Layout& layout,
                                    std::span<const Branch> branches);

}  // namespace espalier::trees
