#pragma once
// Broadcasts that hand segments on along a tree of nodes.

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part, along the tree that the choice means.
void build_broadcast(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Microseconds of the same: `way` until the last node has the first segment, `degree` the most children of a node.
double price_broadcast(const Scene& scene, double way, double degree);

}  // namespace espalier::algorithms
