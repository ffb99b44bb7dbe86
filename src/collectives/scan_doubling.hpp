#pragma once
// Scan and exscan in ceil(log2 N) rounds between nodes, where a chain takes N - 1.

#include <string>

#include "plan/builder.hpp"
#include "plan/choice.hpp"
#include "plan/problem.hpp"

namespace espalier::collectives {

/// Emits one rank's part, for several nodes and a vector that is not empty. The order of operands is kept. A stretch
/// that fits into a cell goes through all rounds before the next one begins.
void build_doubling_scan(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// How many cells of a rank one stretch takes: one for each round where ranks double for themselves, else one.
int doubling_scan_cells(const topology::Topology& topology);

/// What it asks for, as Algorithm::why_invalid.
std::string why_no_doubling_scan(const topology::Topology& topology, const plan::Choice& choice);

}  // namespace espalier::collectives
