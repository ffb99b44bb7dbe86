#pragma once
// What the built-in choice compares: few enough to estimate all of them whenever a new problem turns up.

#include <vector>

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::collectives {

/// Every algorithm of the operation (of the groups of an allgather the leaner form; binary trees from 8 nodes on,
/// through cells), with a few values of its knobs: radix 2 and 4; one, two and as many groups as a node has ranks (of
/// an allreduce these and four) where they promise something: where ranks have cores (of an allgather only two,
/// gathered to masters of 8 nodes or more), or `parameters` say that one connection does not fill a link; whole
/// messages and segments of 16K, 64K and 256K (of a ring that gathers only where blocks differ); doubling far first (of
/// a power of two of more than 8 nodes); few nodes' exchanges one by one; one stage of cells, pipelines of 8K and 32K
/// cells, and single copy where the system allows it and every rank has a core (without one it loses: the kernel copies
/// in somebody else's turn). Of algorithms that are the same on one node the first. In a fixed order, the simplest
/// first; not all of them are valid (registry.hpp: why_invalid). At most about 100, whatever the number of ranks.
std::vector<plan::Choice> derive_candidates(const topology::Topology& topology, const plan::Problem& problem,
                                            const cost::Parameters& parameters);

}  // namespace espalier::collectives
