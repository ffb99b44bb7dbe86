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

}  // namespace espalier::groups
