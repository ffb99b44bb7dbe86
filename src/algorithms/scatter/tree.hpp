#pragma once
// Scatter along a tree of nodes, or between the root and each rank.

#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part: along the tree that the choice means, or by `pairwise` without leaders.
void build_scatter(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::algorithms
