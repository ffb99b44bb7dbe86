#pragma once
// Scans and exscans: how prefixes get from rank to rank. Each of the two operations has each of these ways.

#include <string>

#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part of a chain of all ranks (links.cpp).
void build_chain_of_ranks(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);
/// The same by doubling, in ceil(log2 N) rounds between nodes, where a chain takes N - 1: the order of operands is
/// kept, and a stretch that fits into a cell goes through all rounds before the next one begins (doubling.cpp).
void build_doubling_scan(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);
/// On one node: every rank folds the vectors of all lower ranks for itself.
void build_folded_scan(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// How many cells of a rank one stretch takes that doubles: one for each round where ranks double for themselves, else
/// one.
int doubling_scan_cells(const topology::Topology& topology);

/// What each asks for, as Algorithm::limits.
std::string limits_of_chain_of_ranks(const topology::Topology& topology, const plan::Problem& problem,
                                     const plan::Choice& choice);
std::string limits_of_doubling_scan(const topology::Topology& topology, const plan::Problem& problem,
                                    const plan::Choice& choice);
std::string limits_of_folded_scan(const topology::Topology& topology, const plan::Problem& problem,
                                  const plan::Choice& choice);

/// Microseconds of the first two.
double price_chain_of_ranks(const Scene& scene);
double price_doubling_scan(const Scene& scene);

}  // namespace espalier::algorithms
