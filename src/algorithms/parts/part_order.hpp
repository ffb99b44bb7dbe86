#pragma once
// In which order recursive halving divides the nodes' parts of a reduce_scatter.

#include <vector>

#include "plan/problem.hpp"
#include "topology/topology.hpp"

namespace espalier::algorithms {

/// The parts of 2^n places (nodes, or pairs of nodes: groups/doubling.hpp), one behind the other such that what a round
/// gives away is always one stretch. Near first: round 0 is between neighbours by number, and slices lie by places read
/// backwards. Far first: it is between the two halves of the places, and slices lie by places.
///
///     near first   [ 0 2 | 1 3 ]      far first   [ 0 1 | 2 3 ]     round 0 divides in the middle
class PartOrder {
 public:
  /// `parts` by place.
  PartOrder(const std::vector<Bytes>& parts, bool is_far_first);

  int places() const { return static_cast<int>(cuts_.size()) - 1; }
  bool is_far_first() const { return is_far_first_; }
  int slice_of(int place) const;
  /// The same function: reading backwards twice changes nothing.
  int place_of(int slice) const { return slice_of(slice); }
  /// Where slices begin, and the last one ends.
  const std::vector<Bytes>& cuts() const { return cuts_; }
  /// By round: the longest message of any leader, which the others wait for.
  const std::vector<Bytes>& longest() const { return longest_; }
  /// What they take together, one round after the other.
  Bytes way() const;

 private:
  bool is_far_first_;
  std::vector<Bytes> cuts_;
  std::vector<Bytes> longest_;
};

/// Far first where the longest messages are fewer bytes in sum that way, as with blocks that are long on every other
/// node: near first, all long parts cross one link together (4 nodes with 0.5, 1.5, 0.5 and 1.5 parts: 3 + 1.5, far
/// first 2 + 1.5). Near first otherwise: its longest messages stay between neighbours; and where operands must keep
/// their order, or all nodes together fill the cables between switches. Agreed facts only.
PartOrder derive_part_order(const topology::Topology& topology, const plan::Problem& problem);

}  // namespace espalier::algorithms
