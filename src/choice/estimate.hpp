#pragma once
// The time of a choice without building its plan: what the built-in choice compares.

#include "algorithms/prices/crowding.hpp"
#include "cost/parameters.hpp"
#include "plan/program.hpp"

namespace espalier::choice {

/// Microseconds from the common start to the last rank's end, in closed form from the parts that the algorithm is
/// composed of (cost/node_time.hpp, cost/network_time.hpp), by the rules of cost::estimate_time, which plays the whole
/// plan through and which this approximates: within 15 % for half of all plans, and in
/// nine of ten cases the same order (tests/unit/choice/estimate_test.cpp).
/// Where the network between nodes is known, messages are no sooner and no faster than its ways: typical ones along
/// trees, the slowest for pipelines and rings, and in exchanges the farthest. What these find on the trunks that all
/// nodes share is known by the rounds of doubling, halving and Bruck's exchange (crowding.hpp); others count as if
/// every message crossed them. Unequal nodes are taken for as large as the largest, different blocks for equal but in
/// an allgather and a reduce_scatter. `choice` must be valid for the problem. O(log ranks), of different blocks
/// O(ranks); no allocation. Simple arithmetic in a fixed order: equal on all ranks that run one build.
double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters = {});

/// The same with what the trunks are supposed to be like.
double estimate_choice(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                       const cost::Parameters& parameters, const algorithms::Crowding& crowding);

}  // namespace espalier::choice
