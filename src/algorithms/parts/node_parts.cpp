#include "algorithms/parts/node_parts.hpp"

#include "algorithms/words.hpp"

namespace espalier::algorithms {

std::vector<PartStretch> join_blocks(const topology::Topology& topology, const plan::Blocks& blocks,
                                     std::span<const int> nodes, Bytes to) {
  std::vector<PartStretch> stretches;
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
  for (const PartStretch& stretch : join_blocks(topology_, blocks_, nodes, to)) combine(stretch);
}

void NodeParts::deal(Bytes result) {
  std::vector<Bytes> cuts{0};
  for (const Rank rank : topology_.ranks_on(builder_.node())) cuts.push_back(cuts.back() + blocks_.bytes(rank));
  node_.deal({Buffer::scratch, result, cuts.back()}, cuts);
  if (!is_leader()) return;
  const auto own = static_cast<std::size_t>(leader_.value);
  builder_.copy(Buffer::scratch, result + cuts[own], Buffer::output, 0, cuts[own + 1] - cuts[own]);
}

Bytes part_bytes(const topology::Topology& topology, const plan::Blocks& blocks, int node) {
  Bytes bytes = 0;
  for (const Rank rank : topology.ranks_on(NodeId(node))) bytes += blocks.bytes(rank);
  return bytes;
}

}  // namespace espalier::algorithms
