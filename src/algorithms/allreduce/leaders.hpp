#pragma once
// Allreduces whose leaders combine what their nodes have, and hand out the sum.

#include <string>

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part, where leaders exchange as the choice says. On one node there are none, and every rank folds a
/// slice for all.
void build_allreduce(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// What all allreduces ask for, as Algorithm::limits.
std::string limits_of_allreduce(const topology::Topology& topology, const plan::Problem& problem,
                                const plan::Choice& choice);

/// Microseconds of the same; `among_leaders(bytes)` of the leaders' exchange of so many.
template <class AmongLeaders>
double price_allreduce(const Scene& s, AmongLeaders among_leaders) {
  if (s.nodes == 1) return s.node.reduce_to_all(s.bytes);
  const double bytes = s.segment();
  return s.segments() * (s.node.reduce_to_leader(bytes) + among_leaders(bytes) + s.node.hand_out(bytes));
}

/// Of one message among leaders, and combining what came.
inline double price_round(const Scene& s, double bytes) { return s.network.message(bytes) + s.node.combine(bytes); }

/// Rounds of doubling among leaders.
inline int doublings(const Scene& s) { return cost::rounds_of(s.nodes + 1) - 1; }

/// Nodes beyond the last power of two lend their vectors, and get the result back.
inline double price_lending(const Scene& s, double bytes) {
  return (1 << doublings(s)) < s.nodes ? price_round(s, bytes) + s.network.message(bytes) : 0;
}

}  // namespace espalier::algorithms
