#pragma once
// The nodes of a communicator as a tree around the root's node, seen from one of them.

#include "leaders/speakers.hpp"
#include "plan/builder.hpp"
#include "smp/placement.hpp"
#include "trees/tree.hpp"

namespace espalier::collectives {

/// Consecutive nodes, first to last - 1.
struct Stretch {
  int first = 0;
  int last = 0;
};

/// One rank speaks for each node (leaders/speakers.hpp): the root for its own. Positions count nodes from the root's
/// on, around the last one. The topology must outlive it.
class NodeTree {
 public:
  NodeTree(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice, NodeId node);

  int position() const { return position_; }
  bool is_root() const { return position_ == 0; }
  const trees::Branch& branch() const { return branch_; }
  int node_at(int position) const { return (first_ + position) % topology_.nodes(); }
  Rank speaker_at(int position) const;
  /// This node's own speaker.
  LocalRank speaker() const { return topology_.local_rank(speaker_at(position_)); }

  /// Calls `part(stretch)` for the one or two stretches of nodes, in order, that the positions first … last - 1 are.
  template <class Part>
  void for_each_stretch(int first, int last, Part part) const {
    if (first == last) return;
    const int node = node_at(first);
    const int straight = std::min(last - first, topology_.nodes() - node);
    part(Stretch{node, node + straight});
    if (straight < last - first) part(Stretch{0, last - first - straight});
  }
  /// The same for the subtree of a position.
  template <class Part>
  void for_each_stretch_below(int position, Part part) const {
    for_each_stretch(position, end_of(position), part);
  }

  /// What the ranks at positions first … last - 1 have together.
  Bytes bytes(const smp::NodeMajor& order, int first, int last) const;
  /// The position behind the last one of a position's subtree.
  int end_of(int position) const { return derive(position).end; }

 private:
  trees::Branch derive(int position) const;

  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  bool goes_up_;  ///< speakers of inner vertices receive what comes from below
  plan::Between between_;
  int radix_;
  int first_;
  int position_;
  trees::Branch branch_;
};

inline Bytes bytes_of(const Stretch& nodes, const smp::NodeMajor& order) {
  return order.begin_of(nodes.last) - order.begin_of(nodes.first);
}

}  // namespace espalier::collectives
