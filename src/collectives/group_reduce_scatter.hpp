#pragma once
// Reduce_scatter with several leaders per node, each for the blocks of its group's ranks: the groups of Qian, Rashti
// and Afsahi (2010), section 5.3, run backwards (their future work, section 8).

#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

/// Between::multi_group. Choice and problem are valid together (registry.hpp).
void build_group_reduce_scatter(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Empty when the choice applies; else the reason.
std::string why_no_group_reduce_scatter(const topology::Topology& topology, const plan::Problem& problem,
                                        const plan::Choice& choice);

}  // namespace espalier::collectives
