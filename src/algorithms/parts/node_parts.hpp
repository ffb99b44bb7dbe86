#pragma once
// What a node brings to a reduce_scatter for the ranks of each node, and how its leader hands the result out.

#include <algorithm>
#include <span>
#include <vector>

#include "leaders/speakers.hpp"
#include "plan/blocks.hpp"
#include "plan/builder.hpp"
#include "plan/choice.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::algorithms {

/// A stretch of the vector, and where it goes.
struct PartStretch {
  Bytes from;
  Bytes to;
  Bytes bytes;
};

/// Stretches up to this on average are short: folding one takes a flag each way, about a microsecond, in which a core
/// copies as much (64 nodes of 4 ranks, simulated, one by one / whole: blocks of 64 105 / 30 us, of 1K 168 / 91, of 2K
/// 236 / 295), and a step for each rank of the node.
inline Bytes short_stretch(const topology::Topology& topology) {
  return std::max<Bytes>(4 << 10, static_cast<Bytes>(topology.largest_node()) * 512);
}

/// The blocks of the ranks of these nodes, node by node, from `to` on; those that follow each other in the vector, too,
/// are one stretch.
std::vector<PartStretch> join_blocks(const topology::Topology& topology, const plan::Blocks& blocks,
                                     std::span<const int> nodes, Bytes to);

/// Called by every rank of the node, the same functions in the same order. The leader's parts lie in its scratch, where
/// the caller says, in the first `bytes` of it; behind them is what combining needs.
class NodeParts {
 public:
  NodeParts(plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice, Bytes bytes);

  bool is_leader() const { return builder_.local() == leader_; }
  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }

  /// What this node brings for a stretch of the vector, combined there.
  void combine(const PartStretch& stretch) { node_.reduce(stretch.from, stretch.to, stretch.bytes); }
  /// The same for the ranks of these nodes, node by node from `to` on.
  void combine(std::span<const int> nodes, Bytes to);
  /// The node's own part, combined over all nodes, lies at `result`: to each rank its block.
  void deal(Bytes result);
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

}  // namespace espalier::algorithms
