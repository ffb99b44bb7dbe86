#pragma once
// A tree that is to be laid onto the network: its shape, its root, and what travels along its edges.

#include <vector>

#include "base/ids.hpp"
#include "trees/tree.hpp"

namespace espalier::trees {

enum class Shape : std::uint8_t {
  knomial,
  binary,
  flat,
  chain,
  ring,          ///< everyone hands on to the next position, the last to the first; no root
  scatter_ring,  ///< a k-nomial tree that deals out parts, then a ring that collects them everywhere
};

/// Positions are 0 … count - 1, the root 0 (tree.hpp); an order says which node sits at each. Sizes decide how much
/// latency and rate matter.
struct Layout {
  Shape shape = Shape::knomial;
  int radix = 2;  ///< of k-nomial trees
  int root = 0;   ///< the node at position 0
  /// The message. Where it is dealt out (`is_split`, scatter_ring) or goes round in parts (ring): one node's part.
  Bytes bytes = 0;
  Bytes segment = 0;            ///< unit of pipelining; 0: each message whole
  bool is_split = false;        ///< a scatter or gather: an edge carries the parts of the subtree behind it
  bool goes_both_ways = false;  ///< a ring: by turns to the right and to the left, each half way round
  bool goes_up = false;         ///< a gather or reduce: messages travel towards the root

  bool operator==(const Layout&) const = default;
};

/// What a vertex has on its way to its children at most, unless one message is more, where a child hands on: messages
/// that share its link all come late, and that child's subtree waits. In turn the first child, with the largest
/// subtree, has its message first. A quarter of a megabyte is many short messages, and any link's latency times its
/// rate. 16 nodes of 8 ranks, k-nomial, 1 MB: 1165 us without a bound, with it 537 (simulated).
inline constexpr Bytes most_to_children = Bytes{256} << 10;

/// The tree's edges at one position. Of a ring: those of the chain.
Branch derive_branch(const Layout& layout, int position, int count);

/// All of them, by position.
std::vector<Branch> derive_branches(const Layout& layout, int count);

/// What one message along the edge to position `child` carries; `end` is the end of its subtree.
Bytes edge_bytes(const Layout& layout, int child, int end);

/// Nodes from the root's on, around the last one: the order when nothing is known.
std::vector<int> derive_natural_order(int root, int count);

}  // namespace espalier::trees
