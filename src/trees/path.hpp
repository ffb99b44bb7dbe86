#pragma once
// Chains and rings on the network: a short way through all nodes.

#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

/// A short Hamiltonian path from the layout's root (of a ring: a short circuit): from each node on to the closest free
/// one, then improved by turning stretches of it round (2-opt; Croes 1958) while that makes it shorter. Stretches of
/// one class are never cut, so on regular networks the search is among switches, not nodes. The work is bounded,
/// whatever the network: O(nodes x classes), and at most 2^18 turns are looked at.
std::vector<int> derive_path_order(const topology::Distances& distances, const Layout& layout);

}  // namespace espalier::trees
