#pragma once
// Broadcast with several leaders per node: the groups of Qian, Rashti and Afsahi (2010), section 5.3, for one message
// (the paper's future work, section 8).

#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

/// Between::multi_group. Choice and problem are valid together (registry.hpp).
void build_group_broadcast(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Empty when the choice applies; else the reason.
std::string why_no_group_broadcast(const topology::Topology& topology, const plan::Problem& problem,
                                   const plan::Choice& choice);

}  // namespace espalier::collectives
