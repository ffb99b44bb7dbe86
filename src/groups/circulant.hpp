#pragma once
// Blocks broadcast over a circulant graph: as many rounds as blocks, less one, plus the logarithm of the nodes' number,
// for any number of nodes (Träff, "Optimal Broadcast Schedules in Logarithmic Time", arXiv 2407.18004).

#include <cstddef>
#include <vector>

namespace espalier::groups {

/// How far nodes send in each of q = ceil(log2(count)) rounds, which are repeated: 1, …, half of all, each half of the
/// next, rounded up; and behind them `count`.
std::vector<int> derive_skips(int count);

/// What a node receives in q consecutive rounds (the paper's receive schedule), counted from the blocks that the root
/// has begun to send by then: every negative number from -q on but one, which is a new one, a phase of q rounds ahead.
/// Of node 0, the root, the numbers that nobody sends it. `skips` of as many nodes. O(log count): a search along
/// canonical sums of skips that never turns back (the paper's section 2.3); checked against its four conditions for
/// every node of up to some hundred.
std::vector<int> derive_receive_schedule(int node, const std::vector<int>& skips);

/// Sends that a node leaves unfinished: one, or whoever waits for nothing, as the root, would start all rounds at once,
/// and where its messages share a link none would be early (48 nodes, 1 MB, blocks of 256K, simulated: 723 us with
/// eight).
inline constexpr std::size_t circulant_sends = 1;

/// One round of one node: a block to one node and one from another; -1: none.
struct CirculantRound {
  int to = -1, outgoing = -1;
  int from = -1, incoming = -1;
};

/// All rounds of a node, counted from the root: blocks - 1 + q of them, fewer for a single node. Every node but the
/// root gets every block once, and sends only what it has. What the paper sends over and over at the end, when the last
/// block stands for later ones, is left out. The sends follow from what their receivers expect, hence O(rounds + q) for
/// each of q nodes, where the paper has a send schedule of its own.
std::vector<CirculantRound> derive_circulant(int node, int count, int blocks);

}  // namespace espalier::groups
