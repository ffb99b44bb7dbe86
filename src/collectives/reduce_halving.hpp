#pragma once
// Rabenseifner's reduce between nodes.

#include "plan/builder.hpp"

namespace espalier::collectives {

/// As build_reduce, over several nodes. The leaders halve what they combine, round by round, then a binomial tree
/// gathers the slices at the root's leader: 2 ceil(log2 N) rounds, about the vector sent by each and twice the vector
/// received by the root, where a tree makes inner leaders receive and combine the vector once per child. When N is no
/// power of two some leaders lend their vector to a neighbour first; the root never does if operands may change places.
void build_halving_reduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
