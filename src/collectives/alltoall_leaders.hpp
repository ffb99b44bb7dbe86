#pragma once
// An all-to-all of short blocks with one message per pair of nodes. Choice and problem are valid together
// (registry.hpp).

#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

/// Emits one rank's part.
void build_alltoall_leaders(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Everything passes through cells in one stage; this says why it cannot.
std::string why_no_alltoall_leaders(const topology::Topology& topology, const plan::Problem& problem,
                                    const plan::Choice& choice);

}  // namespace espalier::collectives
