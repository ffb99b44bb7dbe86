#include "algorithms/parts/masters.hpp"

#include <algorithm>

namespace espalier::algorithms {

Masters::Masters(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice)
    : topology_(topology),
      speakers_(topology, problem, choice.leaders),
      groups_(choice.groups),
      rooted_node_(plan::has_root(problem.operation) ? topology.node_of(problem.root).value : -1),
      root_(problem.root) {}

const std::vector<Rank>& Masters::on(int node) const {
  const auto [entry, is_new] = known_.try_emplace(node);
  if (is_new) entry->second = derive(node);
  return entry->second;
}

std::vector<Rank> Masters::derive(int node) const {
  const std::span<const Rank> ranks = topology_.ranks_on(NodeId(node));
  const groups::Shares shares(static_cast<int>(ranks.size()), groups_);
  const std::vector<Rank> near = speakers_.near(NodeId(node), groups_);
  std::vector<Rank> masters;
  for (int group = 0; group < groups_; ++group) {
    const auto k = static_cast<std::size_t>(group);
    masters.push_back(near.empty() ? ranks[static_cast<std::size_t>(shares.master(group).value)]
                                   : near[k % near.size()]);
  }
  if (node == rooted_node_ && std::find(masters.begin(), masters.end(), root_) == masters.end())
    std::replace(masters.begin(), masters.end(), Rank(masters.front()), root_);
  return masters;
}

std::vector<int> Masters::groups_of(Rank rank) const {
  std::vector<int> groups;
  for (int group = 0; group < groups_; ++group)
    if (of(topology_.node_of(rank).value, group) == rank) groups.push_back(group);
  return groups;
}

MasterTurns::MasterTurns(const topology::Topology& topology, const Masters& masters, NodeId node) {
  for (const Rank rank : topology.ranks_on(node)) {
    groups_of_.push_back(masters.groups_of(rank));
    count_ = std::max(count_, static_cast<int>(groups_of_.back().size()));
  }
}

}  // namespace espalier::algorithms
