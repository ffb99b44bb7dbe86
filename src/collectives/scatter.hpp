#pragma once
// Emits one rank's part of a scatter. Choice and problem are valid together (registry.hpp).

#include "plan/builder.hpp"

namespace espalier::collectives {

void build_scatter(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

}  // namespace espalier::collectives
