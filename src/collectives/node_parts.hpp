#pragma once
// What a node brings to a reduce_scatter for the ranks of each node, and how its leader hands the result out.

#include "leaders/speakers.hpp"
#include "plan/blocks.hpp"
#include "plan/builder.hpp"
#include "plan/choice.hpp"
#include "smp/reduce_node.hpp"

namespace espalier::collectives {

/// Called by every rank of the node, the same functions in the same order. The leader's parts lie in its scratch, where
/// the caller says, in the first `bytes` of it; behind them is what combining needs.
class NodeParts {
 public:
  NodeParts(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, Bytes bytes);

  bool is_leader() const { return builder_.local() == leader_; }
  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }

  /// What this node brings for the ranks of another, combined at `to`, in stretches that are consecutive in the vector.
  void combine(int node, Bytes to);
  /// The node's own part, combined over all nodes, lies at `result`: to each rank its block.
  void hand_out(Bytes result);
  /// Under single copy nobody may end before all have read its buffers.
  void end() { node_.end(); }

 private:
  plan::Builder& builder_;
  const topology::Topology& topology_;
  plan::Blocks blocks_;
  leaders::Speakers speakers_;
  LocalRank leader_;
  smp::NodeReduction node_;
};

/// The bytes of a node's part: its ranks' blocks.
Bytes part_bytes(const topology::Topology& topology, const plan::Blocks& blocks, int node);

}  // namespace espalier::collectives
