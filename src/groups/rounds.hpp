#pragma once
// How one leader per node exchanges with the others until each has every node's data: who sends what to whom, round by
// round, from one leader's point of view.

#include <vector>

namespace espalier::groups {

/// Consecutive nodes; none when count is 0.
struct Nodes {
  int first = 0;
  int count = 0;

  bool operator==(const Nodes&) const = default;
};

/// What a leader does at once. A set of nodes may wrap around the last node, or leave out one: then it comes in two
/// parts.
struct Round {
  int to = -1;  ///< -1: sends nothing
  int from = -1;
  Nodes outgoing[2];
  Nodes incoming[2];
};

/// All of these leave every node with the data of all `count` nodes; any count >= 1. What is sent in a round was there
/// at its beginning; what arrives has not been there before.

/// count - 1 rounds that need nothing of each other, so that all may be under way at once: each goes one of
/// `spread_distances` (distances.hpp) to the right. In each, and while any number of consecutive ones are under way,
/// every node is as many others' target.
std::vector<Round> derive_direct(int node, int count);

/// count - 1 rounds; one node's data to the right-hand neighbour per round.
std::vector<Round> derive_ring(int node, int count);

/// The same over both of a leader's neighbours: data go half way round to the right and half way to the left. Rounds to
/// the right and to the left alternate, and what is sent in one was there two rounds before, so that two may be under
/// way at once: half as many hops, and no cable between two switches carries more than half of what a ring's does.
std::vector<Round> derive_two_way_ring(int node, int count);

/// From so many nodes on an allgather's ring goes both ways. Fewer have few hops to save, and wait for two messages at
/// once before they have anything to spread: 4 emulated nodes of 2 ranks, 512 KB blocks, take 180 ms instead of 155.
inline constexpr int two_way_nodes = 8;

/// ceil(log2(count)) rounds: in round k a leader has 2^k nodes' data, starting with its own, and sends them 2^k nodes
/// to the left (Bruck et al. 1997); the last round sends only what is still missing.
std::vector<Round> derive_bruck(int node, int count);

/// log2(count) rounds with partners at distance 1, 2, 4, … When count is not a power of two, the nodes beyond the
/// largest one lend their data to a partner before and receive the result after: two rounds more (Thakur et al. 2005).
std::vector<Round> derive_recursive_doubling(int node, int count);

}  // namespace espalier::groups
