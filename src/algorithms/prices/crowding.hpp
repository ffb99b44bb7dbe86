#pragma once
// What messages find on the cables between switches when all nodes exchange in rounds.

#include <algorithm>

#include "cost/parameters.hpp"
#include "topology/topology.hpp"

namespace espalier::algorithms {

/// In a round in which every node sends to the one `distance` further on, those messages that leave their switch meet
/// on its cables:
///
///     switch   [ 0 1 2 3 ][ 4 5 6 7 ]     distance 1: one of four leaves its switch; 4 and more: all do
///
/// Nodes count as numbered switch by switch, `neighbours` on each; where switches in turn are in groups, as many more.
struct Crowding {
  int neighbours = 1;
  double per_byte = 0;      ///< µs for a byte of each node, when all leave their switch; 0: cables are never full
  double latency = 0;       ///< µs, of a message to another switch where it is supposed; 0: known
  int in_group = 1;         ///< nodes of a group of switches
  double far_per_byte = 0;  ///< µs for a byte of each node, when all leave their group

  /// What a byte to every other node takes.
  double among_all(int nodes) const { return per_byte * std::max(0, nodes - neighbours); }
  double at(double distance) const {
    return std::max(per_byte * std::min(1.0, distance / neighbours), far_per_byte * std::min(1.0, distance / in_group));
  }
};

/// Of the network as the topology knows it: nodes that follow each other on the first node's switch, and the trunk that
/// is busiest when all nodes send to other switches. Nothing where trunks are not known. O(nodes on a switch).
Crowding known_crowding(const topology::Topology& topology);

/// Nothing is known of the network between more nodes than are often found on one switch, or only the rates of
/// adapters, as every job without a topology service has them.
bool is_supposed(const topology::Topology& topology);

/// The same where the network is known, but for the cables between groups of switches, where ways tell that there are
/// such groups: what is known is what each switch has to all others, and on a dragonfly two groups share one cable
/// (1024 ranks that know theirs, allgather of 1K: doubling 1484 us, far first 303). Those are supposed to carry a
/// quarter of what the nodes do. Where nothing is known, many nodes are supposed to sit on several switches, whose
/// cables carry half of what the nodes do: doubling's last rounds, with all of the data, cost twice as much there, and
/// more on a dragonfly, so that what is a little slower on wide networks but never fills those cables is the better
/// bet. Beyond 64 nodes groups of switches are supposed, with cables that carry a quarter. That is for allgathers, and
/// broadcasts to several ranks per node: a tree's messages, which share their senders' links, cost more than their
/// closed forms say unless cells keep them back. Their latency is what Ranger's is over a second level. (128 ranks,
/// allgather of 1K, doubling: 33, 57 and 61 us on a fat tree, three levels 2 : 1 and a dragonfly; round a ring: 34, 41
/// and 34. Simulated.)
Crowding expected_crowding(const topology::Topology& topology, const cost::Parameters& parameters);

}  // namespace espalier::algorithms
