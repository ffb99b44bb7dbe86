#pragma once
// Neighbourhood collectives between nodes in parcels: one message carries all that one node has for another.

#include "algorithms/row.hpp"

namespace espalier::algorithms {

/// The multi-leader idea of the allgathers (Qian, Rashti, Afsahi) on a sparse pattern, with leaders near the NIC
/// (Goglin, Moreaud). For each pair of nodes that has edges, one rank on either speaks:
///
///     every rank          puts its blocks for other nodes into its window
///     n's leader for m    gets n's blocks for m out of the windows, sender by sender, and sends them as one parcel;
///                         of an allgather each block once, however many ranks on m want it
///     m's leader for n    receives the parcel into its window; who wants a block takes it there
///
/// Meanwhile neighbours serve each other (smp/move/edges.hpp), in cells in front of all that. Three copies more for
/// each block than a message of its own has, and as many messages as there are pairs of nodes.
///
/// Leaders are ranks that have edges between the two nodes: who has none need not know how long blocks are.
void build_edge_parcels(Builder& builder, const Problem& problem, const Choice& choice);

std::string why_no_edge_parcels(const topology::Topology& topology, const Problem& problem, const Choice& choice);

/// With one group of leaders, and with two.
void propose_edge_parcels(Candidates& candidates, const Algorithm& algorithm, Choice choice);

double price_edge_parcels(const Scene& scene);

/// The row of either operation over edges.
constexpr Algorithm edges_by_node(Operation operation) {
  return {
      .operation = operation,
      .between = "by_node",
      .place = 2,
      .source = "Qian, Rashti, Afsahi, section 4 (groups of leaders), on a sparse pattern",
      .summary =
          "one message for each pair of nodes that has edges, by leaders who collect it out of their node's windows "
          "and "
          "receive into their own; every block once for each node that wants it",
      .knobs = "groups within cell cells stores leaders",
      .build = build_edge_parcels,
      .limits = why_no_edge_parcels,
      .propose = propose_edge_parcels,
      .way = over_trunks,
      .price = price_edge_parcels,
  };
}

}  // namespace espalier::algorithms
