#pragma once
// Allgathers whose leaders exchange whole nodes in rounds.

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part: round a ring, by Bruck's exchange, or by doubling, as the choice says.
void build_allgather(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Microseconds until a leader has its node's blocks and can begin.
double price_beginning(const Scene& scene);
/// Of the whole allgather by rounds of doubling, or of Bruck's exchange.
double price_doubling(const Scene& scene, bool is_doubling);

}  // namespace espalier::algorithms
