#pragma once
// Neighbourhood collectives edge by edge: what both of them share.

#include "algorithms/row.hpp"

namespace espalier::algorithms {

/// Each rank sends each edge to another node itself, all at once, and meanwhile serves its neighbours on the node
/// (smp/move/edges.hpp). A rank needs to know nothing but its own edges.
void build_edge_messages(Builder& builder, const Problem& problem, const Choice& choice);

/// What choices of all algorithms over edges have to heed.
std::string why_no_edges(const topology::Topology& topology, const Problem& problem, const Choice& choice);

/// Microseconds of that; by the largest number of edges a rank has.
double price_edge_messages(const Scene& scene);

/// The row of either operation over edges (MPI 4.1, section 8.6).
constexpr Algorithm edges_pairwise(Operation operation) {
  return {
      .operation = operation,
      .between = "pairwise",
      .place = 1,
      .source = "the on-node half: Wu, Kendall, Aluru 2004, section 5 (Group_seg_put, Pair_sync, Group_seg_get)",
      .summary =
          "every rank sends its blocks to neighbours on other nodes itself, all at once; those on its node take theirs "
          "out of its cells meanwhile",
      .knobs = "within cell cells stores",
      .build = build_edge_messages,
      .limits = why_no_edges,
      .propose = vary_knobs,
      .way = over_trunks,
      .price = price_edge_messages,
  };
}

}  // namespace espalier::algorithms
