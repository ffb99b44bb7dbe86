#pragma once
// Reduce, allreduce and reduce_scatter that gather all vectors before they combine any: operands keep rank order on
// every placement.

#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part on several nodes. Leaders collect their nodes' vectors, send them, uncombined, to whoever
/// folds (the root, or every leader), and that one folds all of them in rank order: one round, but every folding leader
/// receives the vectors of all ranks. For short vectors, and for operations that do not commute where nodes do not hold
/// consecutive ranks. Scratch of a folding leader: ranks x segment.
void build_gather_reduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::algorithms
