#include "leaders/speakers.hpp"

namespace espalier::leaders {

Rank Speakers::of(NodeId node, bool relays) const {
  const bool is_root_here = plan::has_root(call_.operation) && topology_.node_of(call_.root) == node;
  if (is_root_here) return call_.root;
  if (topology_.facts_on(node).empty() || call_.policy == Policy::natural) return topology_.ranks_on(node).front();
  const auto [entry, is_new] = known_.try_emplace(2 * node.value + (relays ? 1 : 0), Rank(0));
  if (is_new) {
    Call call = call_;
    call.relays = relays;
    entry->second = derive_leaders(topology_, node, call).in_group(0).rank;
  }
  return entry->second;
}

std::vector<Rank> Speakers::near(NodeId node, int groups) const {
  if (topology_.facts_on(node).empty()) return {};
  Call call = call_;
  call.count = groups;
  const NodeLeaders elected = derive_leaders(topology_, node, call);
  if (elected.is_natural) return {};
  std::vector<Rank> ranks;
  for (const NodeLeaders::Leader& leader : elected.leaders) ranks.push_back(leader.rank);
  return ranks;
}

}  // namespace espalier::leaders
