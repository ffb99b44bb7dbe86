#pragma once
// Allreduce with several leaders per node, each for its slice of the vector: Bayatpour, Chakraborty, Subramoni, Lu,
// Panda 2017, "Scalable reduction collectives with data partitioning-based multi-leader design" (SC'17).

#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

/// Between::multi_group. Choice and problem are valid together (registry.hpp).
void build_group_allreduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Empty when the choice applies; else the reason.
std::string why_no_group_allreduce(const topology::Topology& topology, const plan::Problem& problem,
                                   const plan::Choice& choice);

}  // namespace espalier::collectives
