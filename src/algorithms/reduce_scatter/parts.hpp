#pragma once
// What all reduce_scatters have in common: on one node every rank folds its own block, whatever happens between nodes.

#include <string>

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// One rank's part, where there is something to do: on one node here, on several by `between_nodes`.
void build_reduce_scatter(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice,
                          void (*between_nodes)(plan::Builder&, const plan::Problem&, const plan::Choice&));

/// What they ask for, as Algorithm::limits.
std::string limits_of_reduce_scatter(const topology::Topology& topology, const plan::Problem& problem,
                                     const plan::Choice& choice);

/// Microseconds for what a node brings for the ranks of so many others, combined.
double combine_parts(const Scene& scene, double nodes);

}  // namespace espalier::algorithms
