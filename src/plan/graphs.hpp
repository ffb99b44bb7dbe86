#pragma once
// Graphs for neighbourhood collectives, where nobody brings one of a program's own: to explain, to estimate, to test.

#include "plan/problem.hpp"
#include "topology/topology.hpp"

namespace espalier::plan {

/// The problem with these edges, all there are, and what follows from them.
Problem with_edges(Problem problem, const topology::Topology& topology, std::vector<Edge> edges);

/// Out of all edges that there are, as `edges` of a Crossing: those that cross, and what all agree on.
Crossing derive_crossing(const topology::Topology& topology, std::vector<Crossing::Edge> edges);

/// The problem, of `bytes` on every edge, with `degree` edges from each rank and as many to it: to the ranks next to it
/// on both sides of a ring, the nearest first.
Problem with_ring(Problem problem, const topology::Topology& topology, int degree);

/// Edges of each rank where nobody says how many: those of a two-dimensional stencil of five points.
inline constexpr int usual_degree = 4;

}  // namespace espalier::plan
