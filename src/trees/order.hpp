#pragma once
// Which node sits at which position of a tree: the logical tree trained to the physical network (Subramoni et al.).

#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

enum class Traversal : std::uint8_t {
  natural,  ///< nodes from the root's on, as they are numbered
  breadth,  ///< greedy.hpp; of a chain or ring: the short path
  depth,    ///< likewise
  bine,     ///< bine.hpp: by numbers alone; no part of `best`
  best,     ///< whichever Reach (reach.hpp) finds quickest
};

struct Order {
  std::vector<int> node_at;  ///< by position, all nodes once; the root first
  Traversal traversal;       ///< what it came from; `best` when pairs of nodes have changed places since
  double reach;  ///< microseconds until the last node has everything (rehearsal.hpp where routes are known, else
                 ///< reach.hpp)
};

/// Pure and deterministic: equal inputs give equal orders on every rank. `best` chooses among all that may be asked for
/// by name but `bine`, and in a tree of few nodes among each of them with pairs of nodes changed about while that
/// helps. Where routes are known it is the one that a rehearsal on their cables finds the quickest; where they are not,
/// the natural one unless another takes at least 2 % less (upwards 7 %), and no longer whatever the network is like
/// (hypotheses.hpp). When nothing is known of the network every order but `bine` is the natural one, and so is any of a
/// flat tree, whose root serves all alike.
Order derive_order(const topology::Distances& distances, const Layout& layout, int count, Traversal wanted);

}  // namespace espalier::trees
