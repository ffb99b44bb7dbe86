#pragma once
// Laying a tree onto the network one vertex at a time: each child takes the free node that is closest to its parent
// (Subramoni et al., IV-B).

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
  int take_closest_to(int from, Bytes bytes);

 private:
  struct Class {
    int number;
    double remoteness;       ///< sum of delays to all nodes
    std::vector<int> nodes;  ///< the next one to take last
    int next_place;          ///< of that one in natural order
  };

  int place_of(int node) const { return (node - root_ + distances_.nodes()) % distances_.nodes(); }

  const topology::Distances& distances_;
  int root_;
  std::vector<Class> classes_;  ///< those with free nodes
};

/// Positions are filled round by round: the larger its subtree, the earlier a position takes its node, so that fast and
/// near nodes get the positions that most others wait for. (The paper goes level by level; that would give the root's
/// last child, which serves nobody, a better node than its first child's children. Measured in simulation, giving fast
/// nodes out by position or level can be worse than the natural order.) O(nodes x classes).
std::vector<int> derive_breadth_order(const topology::Distances& distances, const Layout& layout);

/// A position's first and largest subtree is filled before its next child takes a node: whole subtrees come to lie
/// close together, for instance on one switch. O(nodes x classes).
std::vector<int> derive_depth_order(const topology::Distances& distances, const Layout& layout);

}  // namespace espalier::trees
