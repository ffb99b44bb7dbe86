#pragma once
// All-to-alls of short blocks with one message per pair of nodes.

#include <string>

#include "algorithms/candidates/candidates.hpp"
#include "algorithms/prices/scene.hpp"
#include "plan/builder.hpp"

namespace espalier::algorithms {

/// Emits one rank's part.
void build_alltoall_leaders(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

/// Everything passes through cells in one stage; this says why it cannot.
std::string why_no_alltoall_leaders(const topology::Topology& topology, const plan::Problem& problem,
                                    const plan::Choice& choice);

/// Microseconds on several nodes.
double price_alltoall_leaders(const Scene& scene);

/// Leaders who send straight, or between many nodes by relays, which take fewer messages the lower their radix is, and
/// carry more bytes. Through cells that hold whole rounds.
void vary_leaders(Candidates& candidates, plan::Choice choice);

}  // namespace espalier::algorithms
