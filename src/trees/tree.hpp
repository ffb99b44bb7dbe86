#pragma once
// Logical trees over the nodes of a communicator, from one vertex's point of view.

#include <vector>

namespace espalier::trees {

/// Neighbours of one position. Positions are 0 … count - 1 and the root is 0; callers map positions to nodes.
struct Branch {
  /// -1 at the root.
  int parent = -1;
  /// In the order in which they are served: the child with the largest subtree first.
  std::vector<int> children;
  /// The position's subtree, itself included, is every position from it up to, not including, this one.
  int end = 0;
};

/// k-nomial tree. In each of ceil(log_k(count)) rounds every position that has the message sends it to up to k - 1
/// others, so the number of holders grows k-fold. Radix 2 is the binomial tree:
///
///          0
///        / | \        count = 8, radix 2: position p hangs from p with its lowest
///       4  2  1       non-zero digit (in base k) cleared
///      /|  |
///     6 5  3
///     |
///     7
///
/// Needs count >= 1 and radix >= 2; any count. O(k log_k count).
Branch derive_knomial(int position, int count, int radix);

/// Each position hands on to the next: count - 1 hops deep, but every link carries each byte once, so that segments
/// stream through it at full speed.
Branch derive_chain(int position, int count);

/// Each position hands on to two: a pipeline as the chain, half as fast, but only log2(count) hops deep. The subtrees
/// are as equal as can be:
///
///          0
///        /   \        count = 8
///       1     5
///      / \   / \       (here 6 and 7)
///     2   4 6   7
///     |
///     3
Branch derive_binary(int position, int count);

/// The root hands on to everyone: one hop deep, but the root sends count - 1 times.
Branch derive_flat(int position, int count);

}  // namespace espalier::trees
