#include "collectives/node_parts.hpp"

#include "collectives/words.hpp"

namespace espalier::collectives {

std::vector<Stretch> join_blocks(const topology::Topology& topology, const plan::Blocks& blocks,
                                 std::span<const int> nodes, Bytes to) {
  std::vector<Stretch> stretches;
  int next = -1;
  for (const int node : nodes)
    for (const Rank rank : topology.ranks_on(NodeId(node))) {
      const Bytes bytes = blocks.bytes(rank);
      if (rank.value != next) stretches.push_back({blocks.begin(rank), to, 0});
      stretches.back().bytes += bytes;
      to += bytes;
      next = rank.value + 1;
    }
  return stretches;
}

NodeParts::NodeParts(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, Bytes bytes)
    : builder_(builder),
      topology_(builder.topology()),
      blocks_(problem, topology_.ranks()),
      speakers_(topology_, problem, choice.leaders),
      leader_(speakers_.local_of(builder.node())),
      node_(builder, problem, choice, leader_, Buffer::scratch, is_leader() ? bytes : 0) {
  builder.need_scratch((is_leader() ? bytes : 0) + smp::NodeReduction::scratch_bytes(problem, choice));
}

void NodeParts::combine(std::span<const int> nodes, Bytes to) {
  for (const Stretch& stretch : join_blocks(topology_, blocks_, nodes, to)) combine(stretch);
}

void NodeParts::hand_out(Bytes result) {
  for (const Rank rank : topology_.ranks_on(builder_.node())) {
    const LocalRank local = topology_.local_rank(rank);
    if (local == leader_ && is_leader()) builder_.copy(Buffer::scratch, result, Buffer::output, 0, blocks_.bytes(rank));
    node_.hand_out(local, {Buffer::scratch, result, blocks_.bytes(rank)}, 0);
    result += blocks_.bytes(rank);
  }
}

Bytes part_bytes(const topology::Topology& topology, const plan::Blocks& blocks, int node) {
  Bytes bytes = 0;
  for (const Rank rank : topology.ranks_on(NodeId(node))) bytes += blocks.bytes(rank);
  return bytes;
}

}  // namespace espalier::collectives
