#pragma once
// The one place where collectives ask who speaks on the network for a node.

#include <unordered_map>
#include <vector>

#include "leaders/direction.hpp"

namespace espalier::leaders {

/// Speakers of all nodes while one problem is solved: a pure function of what all ranks agree on, so that every rank
/// names the same. Without facts about ranks' places a speaker is found in O(1), else in O(ranks on its node), once.
/// The topology must outlive it. Not for several threads at once.
class Speakers {
 public:
  Speakers(const topology::Topology& topology, const plan::Problem& problem, Policy policy)
      : topology_(topology), call_{problem.operation, problem.root, policy} {}

  /// The rank that speaks for a node alone: the root for its own, elsewhere the near one where it receives.
  /// `relays`: in a gather's or reduction's tree the node has children (Call::relays).
  Rank of(NodeId node, bool relays = false) const;
  LocalRank local_of(NodeId node, bool relays = false) const { return topology_.local_rank(of(node, relays)); }

  /// Speaker k belongs to group k of `groups`; on a node with fewer of them they take groups in turn. Empty where
  /// nearness has no say: then groups take whom they like.
  std::vector<Rank> near(NodeId node, int groups) const;

 private:
  const topology::Topology& topology_;
  Call call_;
  mutable std::unordered_map<int, Rank> known_;  ///< by 2 * node + relays
};

}  // namespace espalier::leaders
