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
/// Meanwhile neighbours serve each other (smp/edges.hpp), in cells in front of all that. Two messages more than a copy
/// for each block, and as many messages as there are pairs of nodes.
///
/// Leaders are ranks that have edges between the two nodes: who has none need not know how long blocks are.
void build_edge_parcels(Builder& builder, const Problem& problem, const Choice& choice);

std::string why_no_edge_parcels(const topology::Topology& topology, const Problem& problem, const Choice& choice);

/// With one group of leaders, and with two.
void propose_edge_parcels(Candidates& candidates, const Algorithm& algorithm, Choice choice);

double price_edge_parcels(const Scene& scene);

}  // namespace espalier::algorithms
