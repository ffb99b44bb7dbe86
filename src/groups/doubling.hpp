#pragma once
// Who combines with whom when a reduction doubles the number of combined nodes in each round.

#include <vector>

namespace espalier::groups {

/// One node's part. Partners in the order of the rounds: together they cover ever larger groups of consecutive nodes,
/// so that operands stay in order: before round k, a node's value combines the group that it is in, and its partner's
/// the group next to it, to the left of it exactly when the partner's number is smaller.
struct Doubling {
  /// This node gives its value away at first and gets the result in the end; it has no partners.
  int lends_to = -1;
  /// This node takes the left-hand neighbour's value on first, and returns the result to it.
  int borrows_from = -1;
  std::vector<int> partners;
  /// The node's number among those with partners, whose count is a power of two: bit k says whether it is the
  /// right-hand one of round k.
  int place = -1;

  bool operator==(const Doubling&) const = default;
};

/// log2(count) rounds; two more when `count` >= 1 is no power of two: the first 2 (count - 2^n) nodes pair up, even
/// ones lending to odd ones (Thakur, Rabenseifner, Gropp 2005, section 4.5).
Doubling derive_doubling(int node, int count);

/// The nodes whose values meet at a place, in order: the one with partners, and before it the one that lends to it.
std::vector<int> derive_members(int place, int count);

/// Those who divide what they have in common among themselves, in order of their places: `nodes[position]` is oneself.
struct Circle {
  std::vector<int> nodes;
  int position;

  bool operator==(const Circle&) const = default;
};

/// The same node's rounds when each round is among `radix` nodes instead of two, as far as that goes: radix is rounded
/// down to a power of two, and the last round is among those that are left. Circles of two are the partners above. None
/// for a node that lends.
std::vector<Circle> derive_circles(int node, int count, int radix);

}  // namespace espalier::groups
