#pragma once
// Bine trees: a tree laid onto nodes in the order of their numbers so that few messages go far, with nothing known of
// the network (De Sensi et al., "Bine trees", SC'25).

#include <vector>

#include "trees/layout.hpp"

namespace espalier::trees {

/// Nodes around a circle, the root where it is. Each subtree is an arc of the circle, and so is each vertex with any
/// number of its last children: these come to lie on its two sides in turn, so that a binomial tree over 2^s nodes
/// sends over distances 1, 1, 3, 5, 11, … (a third of the arc) instead of 1, 2, 4, 8, … (half of it).
///
///     natural   0 1 2 3 4 5 6 7           0 ─► 4, 2, 1     4 ─► 6, 5     2 ─► 3     6 ─► 7
///     bine      0 1 2 3 4 5 6 7           0 ─► 3, 7, 1     3 ─► 4, 2     7 ─► 6     4 ─► 5
///
/// The paper finds the partner of a node by flipping the last digits of its number in base -2. Those digits, as a Gray
/// code, are the node's position in our binomial tree: hence an order of nodes and no tree of another shape. Putting it
/// as arcs needs no power of two, and serves every tree whose subtrees are stretches of positions (k-nomial, binary);
/// chains, rings and flat trees keep the natural order, which is their shortest. Pure; O(count).
std::vector<int> derive_bine_order(const Layout& layout, int count);

}  // namespace espalier::trees
