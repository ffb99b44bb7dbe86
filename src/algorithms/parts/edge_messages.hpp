#pragma once
// Neighbourhood collectives edge by edge: what both of them share.

#include "algorithms/row.hpp"

namespace espalier::algorithms {

/// Each rank sends each edge to another node itself, all at once, and meanwhile serves its neighbours on the node
/// (smp/edges.hpp). A rank needs to know nothing but its own edges.
void build_edge_messages(Builder& builder, const Problem& problem, const Choice& choice);

/// What choices of all algorithms over edges have to heed.
std::string why_no_edges(const topology::Topology& topology, const Problem& problem, const Choice& choice);

/// Microseconds of that; by the largest number of edges a rank has.
double price_edge_messages(const Scene& scene);

}  // namespace espalier::algorithms
