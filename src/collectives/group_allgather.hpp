#pragma once
// The multi-connection, multi-core allgathers of Qian, Rashti and Afsahi (2010), section 5. Choice and problem are
// valid together (registry.hpp).

#include "plan/builder.hpp"

namespace espalier::collectives {

/// Between::single_group_ring, single_group_direct, multi_group and multi_group_lean.
void build_group_allgather(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Between::gather_based.
void build_gather_based_allgather(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
