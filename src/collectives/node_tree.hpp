#pragma once
// The nodes of a communicator as a tree around the root's node, seen from one of them.

#include <algorithm>

#include "collectives/node_order.hpp"
#include "leaders/speakers.hpp"
#include "plan/builder.hpp"
#include "smp/placement.hpp"

namespace espalier::collectives {

/// Consecutive nodes, first to last - 1.
struct Stretch {
  int first = 0;
  int last = 0;
};

inline Bytes bytes_of(const Stretch& nodes, const smp::NodeMajor& order) {
  return order.begin_of(nodes.last) - order.begin_of(nodes.first);
}

/// One rank speaks for each node (leaders/speakers.hpp): the root for its own. An order says which node is at which
/// position (trees/order.hpp). The topology must outlive it.
class NodeTree {
 public:
  NodeTree(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice, NodeId node);

  int position() const { return position_; }
  bool is_root() const { return position_ == 0; }
  const trees::Branch& branch() const { return branch_; }
  int node_at(int position) const { return order_.node_at(position); }
  Rank speaker_at(int position) const;
  /// This node's own speaker.
  LocalRank speaker() const { return topology_.local_rank(speaker_at(position_)); }

  /// Positions are the nodes from the root's on: then a subtree is one or two stretches of nodes.
  bool is_natural() const { return order_.is_natural(); }
  /// Calls `part(stretch)` for the stretches of consecutive nodes, in order of positions, that the positions first …
  /// last - 1 are: one or two in the natural order, up to one for each node in others.
  template <class Part>
  void for_each_stretch(int first, int last, Part part) const {
    for (int position = first; position < last;) {
      const int node = node_at(position);
      int length = is_natural() ? std::min(last - position, topology_.nodes() - node) : 1;
      while (!is_natural() && position + length < last && node_at(position + length) == node + length) ++length;
      part(Stretch{node, node + length});
      position += length;
    }
  }
  /// The same for the subtree of a position.
  template <class Part>
  void for_each_stretch_below(int position, Part part) const {
    for_each_stretch(position, end_of(position), part);
  }

  /// Calls `part(bytes)` for each message, in order of positions, in which blocks travel between a position and its
  /// parent: one per stretch of the subtree in the natural order, where they may lie among others at the root; else
  /// one.
  template <class Part>
  void for_each_message(const smp::NodeMajor& order, int position, Part part) const {
    if (!is_natural()) return part(bytes(order, position, end_of(position)));
    for_each_stretch_below(position, [&](const Stretch& nodes) { part(bytes_of(nodes, order)); });
  }

  /// What the ranks at positions first … last - 1 have together.
  Bytes bytes(const smp::NodeMajor& order, int first, int last) const;
  /// The position behind the last one of a position's subtree.
  int end_of(int position) const { return derive(position).end; }

 private:
  trees::Branch derive(int position) const {
    return trees::derive_branch(order_.layout(), position, topology_.nodes());
  }

  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  bool goes_up_;  ///< speakers of inner vertices receive what comes from below
  NodeOrder order_;
  int position_;
  trees::Branch branch_;
};

}  // namespace espalier::collectives
