#include "collectives/choose.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "collectives/alltoall_leaders.hpp"
#include "collectives/choose_reductions.hpp"
#include "collectives/registry.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Choice;
using plan::Operation;
using plan::Within;
using topology::Topology;

namespace {

/// Latency of a message, expressed as the bytes that the wire would have moved meanwhile: 10 µs at 1 GB/s. Only its
/// order of magnitude matters; it decides where a chain's many small hops stop paying.
constexpr double latency_bytes = 10e3;

/// From here on one copy by the kernel beats two through cells (measured, bench/micro: 2 ranks, warm caches). Where
/// everyone reads from one rank or writes to it: 4K 1.2 µs against 1.4. Where all exchange: 8K 2.5 against 2.7, but
/// 4K 1.8 against 1.5, since both cores are in the kernel at once.
constexpr Bytes rooted_single_copy_from = 4 << 10;
constexpr Bytes exchange_single_copy_from = 8 << 10;

/// From here on a block is worth a message of its own: starting one costs less than the two copies it saves.
constexpr Bytes pairwise_from = 32 << 10;

/// An all-to-all's message between two nodes up to which two more copies in memory cost less than a message for every
/// pair of ranks.
constexpr Bytes leaders_message = 8 << 10;

Bytes round_up_to(Bytes bytes, Bytes unit) { return (bytes + unit - 1) / unit * unit; }

/// `bytes` is what one writer passes to its node. Small data take one stage; larger ones a pipeline of a few cells,
/// small enough to stay in the second-level cache.
void choose_cells(const Topology& topology, Bytes bytes, Choice& choice) {
  const topology::Capabilities& can = topology.capabilities();
  const Bytes one_stage = std::min<Bytes>(can.window_bytes, 16 << 10);
  if (bytes <= one_stage) {
    choice.cell = round_up_to(std::max<Bytes>(bytes, 64), 64);
    choice.cells = 1;
    return;
  }
  choice.cell = std::min<Bytes>(can.window_bytes / 4, 32 << 10);
  choice.cells = static_cast<int>(can.window_bytes / choice.cell);
}

/// `message` is what the caller brings, `passed` what the busiest writer of a node hands to its neighbours.
void choose_within(const Topology& topology, Bytes message, Bytes passed, Bytes single_copy_from, Choice& choice) {
  const topology::Capabilities& can = topology.capabilities();
  if (can.single_copy && !can.oversubscribed && message >= single_copy_from) choice.within = Within::single_copy;
  choose_cells(topology, passed, choice);
}

/// The segment that balances filling the chain (hops) against the cost of each message: sqrt(M L / hops).
Bytes chain_segment(Bytes bytes, int nodes) {
  const double hops = std::max(1, nodes - 2);
  const double best = std::sqrt(static_cast<double>(bytes) * latency_bytes / hops);
  const Bytes power = std::bit_floor(static_cast<Bytes>(std::max(best, 1.0)));
  return std::clamp<Bytes>(power, 8 << 10, 1 << 20);
}

double chain_cost(Bytes bytes, Bytes segment, int nodes) {
  const double segments = std::ceil(static_cast<double>(bytes) / static_cast<double>(segment));
  return (nodes - 2 + segments) * (static_cast<double>(segment) + latency_bytes);
}

double binomial_cost(Bytes bytes, int nodes) {
  return std::ceil(std::log2(nodes)) * (static_cast<double>(bytes) + latency_bytes);
}

/// Both stages of van de Geijn's broadcast: the tree moves the message once over the root's link, the ring nearly once
/// over every other.
double scatter_allgather_cost(Bytes bytes, int nodes) {
  const double share = static_cast<double>(nodes - 1) / nodes;
  return 2 * share * static_cast<double>(bytes) + (std::ceil(std::log2(nodes)) + nodes - 1) * latency_bytes;
}

Decision choose_broadcast(const Topology& topology, Bytes bytes) {
  Decision decision;
  Choice& choice = decision.choice;
  choose_within(topology, bytes, bytes, rooted_single_copy_from, choice);
  if (topology.nodes() == 1) {
    decision.reason = choice.within == Within::single_copy
                          ? "one node, large: every core copies its share, once"
                          : "one node: through cells, pipelined when they are too small";
    return decision;
  }
  const int nodes = topology.nodes();
  const Bytes segment = chain_segment(bytes, nodes);
  const double chain = chain_cost(bytes, segment, nodes), binomial = binomial_cost(bytes, nodes);
  // Many small rounds deserve less trust than a pipeline: they must promise more to be taken.
  if (1.25 * scatter_allgather_cost(bytes, nodes) < std::min(chain, binomial)) {
    choice.between = Between::scatter_allgather;
    decision.reason = "too large for a tree, too short to fill a chain: scatter, then allgather between leaders";
  } else if (chain < binomial) {
    choice.between = Between::chain;
    choice.segment = segment;
    decision.reason = "large for this many nodes: a segmented chain keeps every link busy";
  } else {
    choice.segment = bytes > (Bytes{64} << 10) ? Bytes{64} << 10 : 0;
    decision.reason = "short for this many nodes: a binomial tree has the fewest rounds";
  }
  return decision;
}

/// Up to so many nodes a flat tree's root has sent everything before a message has gone down a binomial tree: starting
/// a message costs about a fifth of its latency.
constexpr int flat_nodes = 16;

/// Scatter and gather: the root's link carries every block once, whatever the tree.
Decision choose_rooted_blocks(const Topology& topology, Bytes block) {
  Decision decision;
  Choice& choice = decision.choice;
  const Bytes per_node = block * static_cast<Bytes>(topology.largest_node());
  choose_within(topology, block, per_node, rooted_single_copy_from, choice);
  if (topology.nodes() == 1) {
    decision.reason = choice.within == Within::single_copy
                          ? "one node, large: every rank copies its own block"
                          : "one node: through cells, pipelined when they are too small";
    return decision;
  }
  if (block >= pairwise_from) {
    choice.between = Between::pairwise;
    decision.reason = "long blocks: between root and every rank of other nodes directly, without a copy";
    return decision;
  }
  const bool is_short = static_cast<double>(per_node) < latency_bytes;
  if (is_short && topology.nodes() > flat_nodes) {
    decision.reason = "short blocks, many nodes: a binomial tree has the fewest rounds";
  } else {
    choice.between = Between::flat;
    decision.reason = "the root's link carries every block once: a flat tree adds no second hop";
  }
  return decision;
}

/// All that a rank has passes through its cells at once, where they can hold it.
bool choose_leaders(const Topology& topology, const plan::Problem& problem, Choice& choice) {
  const auto on_node = static_cast<Bytes>(topology.largest_node());
  if (topology.nodes() == 1 || on_node == 1 || on_node * on_node * problem.bytes > leaders_message) return false;
  Choice leaders;
  leaders.between = Between::flat;
  choose_cells(topology, topology.capabilities().window_bytes, leaders);
  if (!why_no_alltoall_leaders(topology, problem, leaders).empty()) return false;
  choice = leaders;
  return true;
}

Decision choose_alltoall(const Topology& topology, const plan::Problem& problem) {
  Decision decision;
  Choice& choice = decision.choice;
  if (choose_leaders(topology, problem, choice)) {
    decision.reason = "short blocks, several nodes: leaders exchange one message per pair of nodes";
    return decision;
  }
  choice.between = Between::pairwise;
  const Bytes passed = problem.bytes * static_cast<Bytes>(topology.largest_node());
  choose_within(topology, problem.bytes, passed, exchange_single_copy_from, choice);
  if (topology.nodes() > 1)
    decision.reason =
        "every rank exchanges with each of other nodes itself, neighbours through shared memory meanwhile";
  else
    decision.reason = choice.within == Within::single_copy
                          ? "one node, large: everyone pulls from everyone"
                          : "one node: through cells, pairwise when they are too small";
  return decision;
}

Decision choose_allgather(const Topology& topology, Bytes bytes) {
  Decision decision;
  Choice& choice = decision.choice;
  choice.between = Between::ring;
  const Bytes result = bytes * static_cast<Bytes>(topology.ranks());
  choose_within(topology, bytes, topology.nodes() == 1 ? bytes : result, exchange_single_copy_from, choice);
  if (topology.nodes() == 1) {
    decision.reason = choice.within == Within::single_copy
                          ? "one node, large: everyone pulls from everyone"
                          : "one node: through cells, pipelined when they are too small";
    return decision;
  }
  const Bytes per_node = bytes * static_cast<Bytes>(topology.largest_node());
  if (per_node <= (Bytes{32} << 10)) {
    const bool is_power_of_two = std::has_single_bit(static_cast<unsigned>(topology.nodes()));
    choice.between = is_power_of_two ? Between::recursive_doubling : Between::bruck;
    decision.reason = "short: the fewest rounds between leaders";
  } else {
    decision.reason = "large: a ring sends every byte once over every link";
  }
  return decision;
}

Decision choose_barrier(const Topology& topology) {
  Decision decision;
  decision.choice.between = Between::dissemination;
  choose_cells(topology, 0, decision.choice);
  decision.reason = "flags on the node, dissemination between leaders";
  return decision;
}

Decision choose_program(const Topology& topology, const plan::Problem& problem) {
  switch (problem.operation) {
    case Operation::broadcast: return choose_broadcast(topology, problem.bytes);
    case Operation::scatter:
    case Operation::gather: return choose_rooted_blocks(topology, problem.bytes);
    case Operation::alltoall: return choose_alltoall(topology, problem);
    case Operation::allgather: return choose_allgather(topology, problem.bytes);
    case Operation::barrier: return choose_barrier(topology);
    default: return choose_reduction(topology, problem);
  }
}

}  // namespace

Decision choose(const Topology& topology, const plan::Problem& problem) {
  Decision decision = choose_program(topology, problem);
  if (topology.nodes() == 1 && plan::is_tiny(problem, topology.ranks()))
    decision.reason =
        "one node, short: an MPI job takes the dedicated path, payload and sequence number in one line; "
        "when that is overruled, this plan";
  return decision;
}

}  // namespace espalier::collectives
