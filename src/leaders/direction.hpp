#pragma once
// Leaders for an operation: nearness matters to ranks that receive from the network, so the operation's direction says
// on which nodes it decides (Goglin and Moreaud 2011, sections 3.2 and 3.3).
//
//   broadcast, scatter     gather, reduce          all others
//
//   root ──► near          natural ──► root        near ◄──► near
//     │                       │                      ▲         ▲
//     └────► near          natural ──┘               └► near ◄─┘

#include <string>
#include <vector>

#include "leaders/election.hpp"
#include "plan/problem.hpp"
#include "topology/topology.hpp"

namespace espalier::leaders {

/// What is asked of a node's leaders; equal on all ranks.
struct Call {
  plan::Operation operation = plan::Operation::barrier;
  Rank root{0};  ///< of operations that have one
  Policy policy = Policy::near;
  int count = 1;  ///< leaders per node, >= 1
  /// Gather, reduce: this node also takes in what other nodes send through it, as an inner vertex of a tree does. Then
  /// its leader receives, and is elected like everybody who does.
  bool relays = false;
  /// On the root's node another rank, near the NIC, speaks for the root: only for pipelines, and when measured better.
  /// Handed over whole, a message takes longer than the distance costs.
  bool hands_over = false;
};

/// The leaders of one node, as ranks of the communicator.
struct NodeLeaders {
  struct Leader {
    Rank rank;
    int nic = -1;  ///< the rail: index among the node's NICs in use; -1: not known

    bool operator==(const Leader&) const = default;
  };
  std::vector<Leader> leaders;
  std::string reason;
  bool is_natural = false;  ///< nearness had no say, except that a root leads its own node

  /// Who speaks for the node in group k: nodes with fewer leaders than others let theirs take several groups.
  const Leader& in_group(int k) const { return leaders[static_cast<std::size_t>(k) % leaders.size()]; }
};

/// The root of an operation that has one leads its node, in the group of its nearest NIC, unless it hands over. A pure
/// function of arguments that all ranks have; O(ranks on the node x count), whatever the job's size.
NodeLeaders derive_leaders(const topology::Topology& topology, NodeId node, const Call& call);

/// The ranks of `node` as a chain or ring through all ranks visits them: its root or leader 0 first, so that data enter
/// the node next to its NIC (section 4.5), then the rest of its NUMA node, then the other NUMA nodes one by one, so
/// that every byte crosses from one to the next once. Where facts are missing, ranks behind the first keep their order.
std::vector<Rank> derive_thread(const topology::Topology& topology, NodeId node, const Call& call);

/// All ranks as one chain: the node of the root first (of rank 0 where there is none), then the following nodes in
/// order around the last one, each as derive_thread() visits it. O(ranks).
std::vector<Rank> derive_chain(const topology::Topology& topology, const Call& call);

}  // namespace espalier::leaders
