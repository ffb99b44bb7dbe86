#pragma once
// What every closed form of an estimate looks at.

#include <cmath>

#include "algorithms/prices/crowding.hpp"
#include "cost/network_time.hpp"
#include "cost/node_time.hpp"
#include "plan/problem.hpp"
#include "topology/topology.hpp"

namespace espalier::algorithms {

struct Scene {
  Scene(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
        const cost::Parameters& parameters, const Crowding& crowding)
      : nodes(topology.nodes()),
        ranks(topology.ranks()),
        on_node(topology.largest_node()),
        is_blocked(topology.is_blocked()),
        handing_over(topology.capabilities().oversubscribed ? parameters.yield : 0),
        topology(topology),
        problem(problem),
        choice(choice),
        is(parameters),
        bytes(static_cast<double>(problem.bytes)),
        node(parameters, choice, topology.largest_node(), topology.capabilities().oversubscribed),
        network(parameters),
        crowding(crowding) {}

  int nodes;
  int ranks;
  int on_node;  ///< ranks on the largest node
  bool is_blocked;
  double handing_over;  ///< a core to who waits for it: µs, where ranks outnumber cores
  const topology::Topology& topology;
  const plan::Problem& problem;
  const plan::Choice& choice;
  const cost::Parameters& is;
  double bytes;
  cost::NodeTime node;
  cost::NetworkTime network;
  Crowding crowding;

  /// A leader's message in a round in which all leaders send to the one `distance` nodes away: what it occupies its
  /// connection or the trunks for, and its whole time.
  double carried_to(double distance, double message) const {
    return std::max(network.carried(message), message * crowding.at(distance));
  }
  double message_to(double distance, double message) const { return network.delay() + carried_to(distance, message); }

  /// Ranks that do not sit on the root's node.
  double elsewhere() const { return ranks - on_node; }
  /// What all ranks of a node have together, when each has `bytes`.
  double of_node() const { return bytes * on_node; }
  /// Segments of a pipeline between nodes, and the bytes of one.
  double segments() const {
    return choice.segment == 0 || bytes <= 0 ? 1 : std::ceil(bytes / static_cast<double>(choice.segment));
  }
  double segment() const { return bytes / segments(); }
};

/// What the ranks of one node have together, or get: of the node with most and of that with least, and all nodes.
struct NodeData {
  double most, least, all;

  /// What `count` of `nodes` nodes have together, where those with most are the slowest.
  double of(int count, int nodes) const { return most + (count - 1) * all / nodes; }
};

/// Of blocks that differ; of equal ones every node has as much as the largest. O(ranks) with counts, else O(1).
NodeData node_data(const Scene& scene);

/// All messages of a node of an all-to-all. Ranks of one node cannot take turns, so theirs cross in any case.
inline double through_link(const Scene& s, double count, double bytes) {
  return s.on_node == 1 ? s.network.crossing(count, bytes) : s.network.at_once(count, bytes);
}

/// Data that lie node by node must be put into rank order, or taken out of it, rank by rank.
inline double reorder_time(const Scene& s, double blocks) { return s.is_blocked ? 0 : blocks * s.node.copy(s.bytes); }

}  // namespace espalier::algorithms
