// Allreduce: every node combines what its ranks bring, leaders combine the nodes' results, and each hands the sum out.
//
//   node 0   r r r ─► leader ◄──┐   segment by segment: while one is between the nodes, the next one is
//   node 1   r r r ─► leader ◄──┘   combined on them
//
// On one node there are no leaders: every rank folds a slice for all (smp/reduce/node).

#include "algorithms/allreduce/leaders.hpp"

#include <algorithm>
#include <type_traits>

#include "algorithms/parts/leader_exchange.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/words.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce/domains.hpp"
#include "smp/reduce/grain.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::algorithms {

namespace {

void build_on_one_node(Builder& builder, const Problem& problem, const Choice& choice) {
  const auto reduce_by = [&]<class NodeSum>(std::type_identity<NodeSum>) {
    builder.need_scratch(NodeSum::scratch_bytes(problem, choice));
    NodeSum node(builder, problem, choice, NodeSum::everyone, Buffer::output, 0);
    node.reduce(0, 0, problem.bytes);
    node.end();
  };
  if (choice.levels > 1 && choice.within == plan::Within::cells)
    reduce_by(std::type_identity<smp::DomainReduction>{});
  else
    reduce_by(std::type_identity<smp::NodeReduction>{});
}

void sum_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  const smp::Grain grain(problem);
  const Bytes whole = choice.segment == 0 ? problem.bytes : std::max(grain.bytes(), grain.round_down(choice.segment));
  const Bytes segment = std::min(whole, problem.bytes);
  const leaders::Speakers speakers(builder.topology(), problem, choice.leaders);
  const LeaderOf leader_of = [&](int node) { return speakers.of(NodeId(node)); };
  const LocalRank leader = speakers.local_of(builder.node());
  const bool is_leader = builder.local() == leader;
  const Bytes own = smp::NodeReduction::scratch_bytes(problem, choice);
  builder.need_scratch(own + (is_leader ? segment : 0));
  smp::NodeReduction node(builder, problem, choice, leader, Buffer::output, 0);
  Choice among_leaders = choice;
  among_leaders.radix = 2;
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    const Bytes bytes = std::min(segment, problem.bytes - offset);
    node.reduce(offset, offset, bytes);
    if (is_leader)
      combine_leaders(builder, problem, among_leaders, leader_of, {offset, bytes, {Buffer::output, offset}, own});
    node.hand_out(smp::NodeReduction::everyone, {Buffer::output, offset, bytes}, offset);
  }
  node.end();
}

}  // namespace

void build_allreduce(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (builder.topology().nodes() == 1)
    build_on_one_node(builder, problem, choice);
  else
    sum_between_nodes(builder, problem, choice);
}

std::string limits_of_allreduce(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::algorithms
