#pragma once
// The multi-connection, multi-core allgathers of Qian, Rashti and Afsahi (2008), section 5.

#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part, in the paper's form: masters gather, exchange, hand out.
void build_group_allgather(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);
/// The same exchange with less: a node's own data are shared once, and what has come is spread while more is on its
/// way.
void build_lean_allgather(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::algorithms
