#pragma once
// Who speaks for a group on a node.

#include <unordered_map>
#include <vector>

#include "groups/shares.hpp"
#include "leaders/speakers.hpp"
#include "plan/choice.hpp"
#include "plan/problem.hpp"
#include "smp/operations.hpp"
#include "topology/topology.hpp"

namespace espalier::algorithms {

/// The masters of all groups of a choice, a pure function of what all ranks agree on: those near their NICs
/// (leaders/speakers.hpp); where nearness has no say, the first of each share (groups/shares.hpp). On a node with fewer
/// ranks than groups ranks speak for several groups in turn. A root that is no master otherwise takes the place of its
/// node's master of group 0: its data are on the wire at once. The topology must outlive it. Not for several threads at
/// once.
class Masters {
 public:
  Masters(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

  int groups() const { return groups_; }
  /// A node's, by group; good as long as this is.
  const std::vector<Rank>& on(int node) const;
  Rank of(int node, int group) const { return on(node)[static_cast<std::size_t>(group)]; }
  LocalRank local_of(int node, int group) const { return topology_.local_rank(of(node, group)); }
  /// The groups that a rank speaks for, ascending.
  std::vector<int> groups_of(Rank rank) const;

 private:
  std::vector<Rank> derive(int node) const;

  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  int groups_;
  int rooted_node_;  ///< -1: the operation has no root
  Rank root_;
  mutable std::unordered_map<int, std::vector<Rank>> known_;  ///< by node, as they are asked for
};

/// A node's masters in turns: who speaks for several groups serves one of them in each.
class MasterTurns {
 public:
  MasterTurns(const topology::Topology& topology, const Masters& masters, NodeId node);

  int count() const { return count_; }
  /// By local rank: `stretch_of(group)` of the group that the rank serves in this turn, an empty range where none.
  template <class StretchOf>
  std::vector<smp::Range> stretches(int turn, StretchOf stretch_of) const {
    std::vector<smp::Range> all;
    for (const std::vector<int>& groups : groups_of_) {
      const auto k = static_cast<std::size_t>(turn);
      all.push_back(k < groups.size() ? stretch_of(groups[k]) : smp::Range{plan::Buffer::output, 0, 0});
    }
    return all;
  }

 private:
  std::vector<std::vector<int>> groups_of_;  ///< by local rank
  int count_ = 0;
};

}  // namespace espalier::algorithms
