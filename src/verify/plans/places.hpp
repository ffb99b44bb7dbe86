#pragma once
// Invented places of ranks on their nodes, so that plans are also proved with leaders that are not first.

#include <cstdint>
#include <span>
#include <vector>

#include "machine/rank_facts.hpp"

namespace espalier::verify {

/// Facts for ranks on the nodes `node_of` (labels): one to four NUMA nodes, none to three NICs anywhere, bound ranks
/// and some that are not, now and then a rank that sees other NICs than its neighbours. Pure: the same for a seed
/// everywhere, so that a seed is all that a reproducer has to say. Seed 0 knows nothing: no facts.
std::vector<machine::RankFacts> draw_places(std::span<const int> node_of, std::uint64_t seed);

}  // namespace espalier::verify
