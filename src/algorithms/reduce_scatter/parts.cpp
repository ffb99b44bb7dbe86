#include "algorithms/reduce_scatter/parts.hpp"

#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/words.hpp"
#include "plan/blocks.hpp"
#include "smp/reduce/apart.hpp"

namespace espalier::algorithms {

void build_reduce_scatter(Builder& builder, const Problem& problem, const Choice& choice,
                          void (*between_nodes)(Builder&, const Problem&, const Choice&)) {
  if (plan::Blocks(problem, builder.topology().ranks()).total() == 0) return;
  builder.topology().nodes() == 1 ? smp::reduce_blocks(builder, problem, choice)
                                  : between_nodes(builder, problem, choice);
}

std::string limits_of_reduce_scatter(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  return why_no_reduction(topology, problem, choice, topology.nodes() == 1 ? topology.ranks() : 1);
}

// Stretches of ranks that follow each other are combined at once.
double combine_parts(const Scene& s, double nodes) {
  return s.is_blocked ? s.node.reduce_to_leader(s.of_node(), nodes)
                      : s.node.reduce_to_leader(s.bytes, s.on_node * nodes);
}

}  // namespace espalier::algorithms
