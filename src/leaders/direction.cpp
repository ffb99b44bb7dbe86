#include "leaders/direction.hpp"

#include <algorithm>
#include <tuple>

namespace espalier::leaders {

using machine::RankFacts;
using plan::Operation;
using topology::Topology;

namespace {

bool goes_to_one(Operation operation) { return operation == Operation::gather || operation == Operation::reduce; }

bool is_home_of_root(const Topology& topology, NodeId node, const Call& call) {
  return plan::has_root(call.operation) && topology.node_of(call.root) == node;
}

const RankFacts* facts_of(const Topology& topology, Rank rank) {
  const auto facts = topology.facts_on(topology.node_of(rank));
  return facts.empty() ? nullptr : &facts[static_cast<std::size_t>(topology.local_rank(rank).value)];
}

// The root becomes the leader for its nearest NIC unless it was elected itself, so that the groups keep their rails.
void put_root_in(const Topology& topology, const Call& call, NodeLeaders& elected) {
  auto& leaders = elected.leaders;
  elected.reason = leaders.size() == 1 ? "the root" : "the root; others " + elected.reason;
  for (const auto& leader : leaders)
    if (leader.rank == call.root) return;
  const RankFacts* facts = facts_of(topology, call.root);
  const int nic = facts == nullptr ? -1 : nearest_nic(*facts);
  const auto same = std::find_if(leaders.begin(), leaders.end(), [&](const auto& it) { return it.nic == nic; });
  (same == leaders.end() ? leaders.front() : *same) = {call.root, nic};
}

}  // namespace

NodeLeaders derive_leaders(const Topology& topology, NodeId node, const Call& call) {
  const bool is_root_here = is_home_of_root(topology, node, call);
  const bool only_sends = goes_to_one(call.operation) && !is_root_here && !call.relays;
  const Request request{only_sends ? Policy::natural : call.policy, call.count, topology.capabilities().turn};
  const Election election = elect(topology.facts_on(node), topology.size_of(node), request);
  NodeLeaders result;
  result.reason = only_sends ? "only senders: distance does not matter" : election.reason;
  result.is_natural = election.is_natural;
  for (const Leader& leader : election.leaders)
    result.leaders.push_back({topology.ranks_on(node)[static_cast<std::size_t>(leader.rank.value)], leader.nic});
  if (is_root_here && !call.hands_over) put_root_in(topology, call, result);
  return result;
}

std::vector<Rank> derive_thread(const Topology& topology, NodeId node, const Call& call) {
  const auto ranks = topology.ranks_on(node);
  std::vector<Rank> thread(ranks.begin(), ranks.end());
  const bool begins_here = is_home_of_root(topology, node, call) && !call.hands_over;
  const Rank entry = begins_here ? call.root : derive_leaders(topology, node, call).leaders.front().rank;
  const RankFacts* at_entry = facts_of(topology, entry);
  const auto place = [&](Rank rank) {
    const RankFacts* facts = facts_of(topology, rank);
    const int numa = facts == nullptr || call.policy == Policy::natural ? -1 : facts->numa;
    const bool is_elsewhere = facts != nullptr && at_entry != nullptr && numa != at_entry->numa;
    return std::tuple(rank != entry, is_elsewhere, numa);
  };
  std::stable_sort(thread.begin(), thread.end(), [&](Rank a, Rank b) { return place(a) < place(b); });
  return thread;
}

std::vector<Rank> derive_chain(const Topology& topology, const Call& call) {
  std::vector<Rank> chain;
  const int first = topology.node_of(plan::has_root(call.operation) ? call.root : Rank(0)).value;
  for (int n = 0; n < topology.nodes(); ++n) {
    const std::vector<Rank> thread = derive_thread(topology, NodeId((first + n) % topology.nodes()), call);
    chain.insert(chain.end(), thread.begin(), thread.end());
  }
  return chain;
}

}  // namespace espalier::leaders
