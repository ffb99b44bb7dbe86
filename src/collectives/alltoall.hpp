#pragma once
// Emits one rank's part of an all-to-all. Choice and problem are valid together (registry.hpp).

#include "plan/builder.hpp"

namespace espalier::collectives {

void build_alltoall(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
