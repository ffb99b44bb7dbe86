#pragma once
// Programs for playing plans of very many ranks.

#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::cost {

/// The same program for a play that keeps no spans, on a node whose ranks have cores: copies and reductions that follow
/// each other are one copy that takes as long as all of them, to half of the time of a byte. An allgather's rank takes
/// every node's blocks out of the cells, one by one: of 65 536 such programs no memory holds more. `is` is what the
/// play goes by (Parameters::met_by). Pure; O(steps).
plan::Program condense(const plan::Program& program, LocalRank me, const Parameters& is);

}  // namespace espalier::cost
