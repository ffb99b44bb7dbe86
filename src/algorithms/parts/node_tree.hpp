#pragma once
// The nodes of a communicator as a tree around the root's node, seen from one of them.

#include <algorithm>

#include "algorithms/parts/node_order.hpp"
#include "leaders/speakers.hpp"
#include "plan/builder.hpp"
#include "smp/placement.hpp"

namespace espalier::algorithms {

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

  /// What this vertex should have on its way to its children at most: trees::most_to_children, or all that there is
  /// when no child hands on.
  Bytes most_under_way() const;

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

  /// Whether messages are cut, so that their parts are passed on as they come.
  bool has_segments() const { return segment_ > 0; }
  /// A part of a subtree's blocks, as it travels between the subtree's speaker and its parent.
  struct Message {
    Bytes node_major;  ///< where it begins in a buffer with all nodes' blocks; means nothing unless is_natural()
    Bytes offset;      ///< where it begins in the subtree's blocks, position by position
    Bytes bytes;
  };
  /// Calls `part(message)` for each message, in the order in which they travel; none is empty. Without segments there
  /// is one per stretch of the subtree in the natural order, where they may lie among others at the root; else one.
  /// Each is cut into the choice's segments, and then those on their way down that go on to other nodes come before
  /// those that stay: nodes deal while others still receive.
  template <class Part>
  void for_each_message(const smp::NodeMajor& order, int position, Part part) const {
    const int end = end_of(position);
    if (segment_ == 0 || goes_up_) return for_each_message_of(order, position, end, 0, part);
    for_each_message_of(order, position + 1, end, bytes(order, position, position + 1), part);
    for_each_message_of(order, position, position + 1, 0, part);
  }

  /// What the ranks at positions first … last - 1 have together.
  Bytes bytes(const smp::NodeMajor& order, int first, int last) const;
  /// The position behind the last one of a position's subtree.
  int end_of(int position) const { return derive(position).end; }

 private:
  trees::Branch derive(int position) const {
    return trees::derive_branch(order_.layout(), position, topology_.nodes());
  }

  template <class Part>
  void for_each_message_of(const smp::NodeMajor& order, int first, int last, Bytes offset, Part part) const {
    const auto cut = [&](Bytes node_major, Bytes whole) {
      for (Bytes done = 0, length = 0; done < whole; done += length, offset += length) {
        length = segment_ == 0 ? whole : std::min(segment_, whole - done);
        part(Message{node_major + done, offset, length});
      }
    };
    if (!is_natural()) return cut(0, bytes(order, first, last));
    for_each_stretch(first, last,
                     [&](const Stretch& nodes) { cut(order.begin_of(nodes.first), bytes_of(nodes, order)); });
  }

  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  bool goes_up_;  ///< speakers of inner vertices receive what comes from below
  NodeOrder order_;
  Bytes segment_;
  int position_;
  trees::Branch branch_;
};

}  // namespace espalier::algorithms
