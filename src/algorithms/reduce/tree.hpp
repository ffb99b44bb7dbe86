#pragma once
// Reduces whose leaders combine along a tree or chain towards the root.

#include <string>

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part, along the tree that the choice means; on one node there is none, whatever it is.
void build_reduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// What all reduces ask for, as Algorithm::limits.
std::string limits_of_reduce(const topology::Topology& topology, const plan::Problem& problem,
                             const plan::Choice& choice);

/// The tree as its price sees it.
struct CombiningTree {
  int rounds;    ///< until the root has heard of all
  int hops;      ///< of the longest way
  int in_round;  ///< messages that one leader takes in a round
  int children;  ///< of a leader, at most
};

/// Microseconds of the same.
double price_reduce(const Scene& scene, const CombiningTree& tree);

}  // namespace espalier::algorithms
