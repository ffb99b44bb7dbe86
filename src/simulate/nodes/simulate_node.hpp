#pragma once
// Plans inside nodes whose caches, memories and cards are simulated: every step of shared memory gets a place and a
// distance, and copies share caches' ports, sockets' links and memories as messages share a network's links.

#include <string>
#include <vector>

#include "cost/play.hpp"
#include "plan/program.hpp"
#include "simulate/nodes/node_platform.hpp"

namespace espalier::simulate {

/// What the ranks of a job sit on: nodes that are all alike.
struct NodeJob {
  NodePlatform platform;
  std::vector<int> core_of_rank;  ///< on its node
  double latency = 1.5;           ///< of the network between nodes, which is bounded by their cards alone
};

/// Times in microseconds from the common start.
struct NodeResult {
  double total = 0;          ///< the last rank's end
  std::vector<double> ends;  ///< by rank
  struct Load {
    std::string link;
    double rate;
    double bytes;
  };
  std::vector<Load> loads;        ///< links that something crossed
  std::vector<cost::Span> spans;  ///< if kept
};

/// Plays the plan as the fourth of calls like it: what earlier ones left in caches is there, all their flags have been
/// raised, and callers have written their inputs again. With flags looked back at every second call, the time is the
/// mean of the third and the fourth. `are_lines`: every tick of a flag is a line of its own (line_plan.hpp).
/// Deterministic. Of `parameters`, `step`, the fixed part of `copy`, the rates of
/// `copy`, `reduce` and `single_copy` (with its fixed part and `together`) and what messages cost a processor count;
/// the rest is the platform's. Ranks must have a core each. Throws Error when they have not, or when the plan does not
/// come to its end.
NodeResult simulate_node(const plan::Plan& plan, const NodeJob& job, const cost::Parameters& parameters,
                         bool are_lines = false, bool keeps_spans = false);

}  // namespace espalier::simulate
