#pragma once
// Emits one rank's part of an allreduce. Choice and problem are valid together (registry.hpp).

#include <string>

#include "plan/builder.hpp"

namespace espalier::collectives {

void build_allreduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// What the algorithms ask for, as Algorithm::why_invalid.
std::string why_no_allreduce(const topology::Topology& topology, const plan::Problem& problem,
                             const plan::Choice& choice);

}  // namespace espalier::collectives
