#include "collectives/registry.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "collectives/allgather.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/alltoall.hpp"
#include "collectives/alltoall_leaders.hpp"
#include "collectives/barrier.hpp"
#include "collectives/broadcast.hpp"
#include "collectives/gather.hpp"
#include "collectives/group_allgather.hpp"
#include "collectives/group_allreduce.hpp"
#include "collectives/group_broadcast.hpp"
#include "collectives/group_reduce_scatter.hpp"
#include "collectives/reduce.hpp"
#include "collectives/reduce_scatter.hpp"
#include "collectives/scan.hpp"
#include "collectives/scatter.hpp"
#include "collectives/scatter_allgather.hpp"
#include "collectives/words.hpp"
#include "plan/knobs.hpp"

namespace espalier::collectives {

namespace {

// A knob with all values that it has (plan/knobs.hpp), or with those that the algorithm knows.
constexpr const char* tree_knobs = "radix segment within cell cells levels leaders order";
constexpr const char* spread_tree_knobs = "radix segment within cell cells stores levels leaders order";
constexpr const char* chain_knobs = "segment within cell cells stores levels leaders order";
constexpr const char* knomial_knobs = "radix within cell cells stores leaders order";
constexpr const char* scatter_allgather_knobs = "radix exchange=ring|bruck within cell cells stores leaders order";
constexpr const char* ring_knobs = "segment within cell cells stores leaders order";
constexpr const char* exchange_knobs = "within cell cells stores leaders";
constexpr const char* doubling_knobs = "within cell cells stores leaders order=auto|depth";
constexpr const char* rooted_tree_knobs = "radix segment within cell cells stores leaders order";
constexpr const char* rooted_flat_knobs = "segment within cell cells stores leaders";
constexpr const char* pairwise_knobs = "within cell cells stores";  // every rank speaks for itself
constexpr const char* swap_knobs = "connections within cell cells stores";
constexpr const char* part_knobs = "connections within cell cells stores leaders";
constexpr const char* single_ring_knobs = "segment within cell cells staging leaders";
constexpr const char* direct_knobs = "connections segment within cell cells staging leaders";
constexpr const char* group_knobs = "groups exchange connections segment within cell cells staging leaders";
constexpr const char* gather_knobs = "groups connections within cell cells staging leaders";
constexpr const char* group_tree_knobs =
    "groups exchange=direct|ring|recursive_doubling connections segment within cell cells leaders";
constexpr const char* group_sum_knobs =
    "groups exchange=direct|ring|recursive_doubling radix connections segment cell cells leaders";
constexpr const char* group_part_knobs = "groups connections cell cells leaders";
constexpr const char* swap_leader_knobs = "exchange=direct|bruck radix cell cells leaders";
constexpr const char* group_swap_knobs = "groups exchange=direct|bruck radix cell cells leaders";
constexpr const char* cell_knobs = "cell cells";
constexpr const char* segment_knobs = "segment within cell cells leaders";
constexpr const char* sum_knobs = "segment within cell cells levels leaders";
constexpr const char* sum_ring_knobs = "segment within cell cells levels leaders order";
constexpr const char* signal_knobs = "levels leaders";

constexpr Algorithm table[] = {
    {"broadcast_knomial", Operation::broadcast, Between::knomial,
     "Wu, Kendall, Aluru 2005, section 4 (binomial: radix 2)",
     "k-nomial tree of N nodes, ceil(log_k N) rounds; the root sends the message up to (k - 1) ceil(log_k N) times",
     spread_tree_knobs, build_broadcast},
    {"broadcast_chain", Operation::broadcast, Between::chain, "Barnett et al. 1994 (pipelined chain)",
     "each of N nodes hands segments to the next, N - 1 + segments rounds; every leader but the last sends the message "
     "once",
     chain_knobs, build_broadcast},
    {"broadcast_binary", Operation::broadcast, Between::binary,
     "Subramoni et al.; Sanders, Speck, Träff 2009, section 2",
     "each of N nodes hands segments to two others, about 2 log2 N + 2 segments rounds; no leader sends the message "
     "more than twice",
     chain_knobs, build_broadcast},
    {"broadcast_flat", Operation::broadcast, Between::flat, "Wu, Kendall, Aluru 2005, section 4 (flat tree)",
     "the root sends every segment to each of N - 1 leaders itself: one hop, and the message N - 1 times over its link",
     segment_knobs, build_broadcast},
    {"broadcast_scatter_allgather", Operation::broadcast, Between::scatter_allgather,
     "Barnett et al. 1994 (van de Geijn); Wu, Kendall, Aluru 2005, section 8.4: leaders only",
     "a k-nomial tree of N nodes scatters N chunks, a ring gathers them, ceil(log_k N) + N - 1 rounds, or (Bruck et "
     "al. 1997) as many again as the tree has; no leader sends the message more than about twice",
     scatter_allgather_knobs, build_scatter_allgather},
    {"broadcast_multi_group", Operation::broadcast, Between::multi_group,
     "after Qian, Rashti, Afsahi 2010, sections 5.3 and 8",
     "g masters per node each carry every g-th segment over connections of their own, along a chain of nodes (ring), a "
     "binomial tree (recursive_doubling) or from the root's node to all (direct)",
     group_tree_knobs, build_group_broadcast, why_no_group_broadcast},
    {"scatter_knomial", Operation::scatter, Between::knomial, "Wu, Kendall, Aluru 2005, section 4 (binomial: radix 2)",
     "k-nomial tree of N nodes, ceil(log_k N) rounds; a message holds the blocks of a whole subtree, node by node; the "
     "root sends each block once; in segments, a node deals while more comes",
     rooted_tree_knobs, build_scatter},
    {"scatter_flat", Operation::scatter, Between::flat, "Wu, Kendall, Aluru 2005, sections 4 and 8.2 (flat tree)",
     "the root sends each of N - 1 leaders its node's blocks; every block crosses one link once", rooted_flat_knobs,
     build_scatter},
    {"scatter_pairwise", Operation::scatter, Between::pairwise, "Wu, Kendall, Aluru 2005, section 8.2 (above 128K)",
     "the root sends every rank of other nodes its block: ranks - 1 messages, no further copy, every block crosses one "
     "link once",
     pairwise_knobs, build_scatter},
    {"gather_knomial", Operation::gather, Between::knomial, "Wu, Kendall, Aluru 2005, section 4 (binomial: radix 2)",
     "k-nomial tree of N nodes, ceil(log_k N) rounds; a leader sends the blocks of its whole subtree at once, or in "
     "segments while its node still gathers",
     rooted_tree_knobs, build_gather},
    {"gather_flat", Operation::gather, Between::flat, "Wu, Kendall, Aluru 2005, sections 4 and 8.2 (flat tree)",
     "each of N - 1 leaders sends the root its node's blocks; every block crosses one link once", rooted_flat_knobs,
     build_gather},
    {"gather_pairwise", Operation::gather, Between::pairwise, "Wu, Kendall, Aluru 2005, section 8.2 (above 128K)",
     "every rank of other nodes sends the root its block: ranks - 1 messages, no further copy, every block crosses one "
     "link once",
     pairwise_knobs, build_gather},
    {"allgather_ring", Operation::allgather, Between::ring,
     "after Qian, Rashti, Afsahi 2010, section 4 (single group; theirs has a single connection)",
     "leaders pass on one node's data per round, N - 1 rounds; from 8 nodes on to the right and to the left in turn, "
     "two rounds under way at once; every leader sends (N - 1)/N of the result; in segments, however uneven, without "
     "a pause",
     ring_knobs, build_allgather},
    {"allgather_recursive_doubling", Operation::allgather, Between::recursive_doubling,
     "Thakur, Rabenseifner, Gropp 2005, section 4.1",
     "leaders swap all they have at distances 1, 2, 4, …, log2 N rounds (two more unless N is a power of two); far "
     "first (order=depth) at N/2, N/4, …, 1, with a copy more",
     doubling_knobs, build_allgather},
    {"allgather_bruck", Operation::allgather, Between::bruck, "Bruck et al. 1997",
     "leaders send all they have 2^k nodes to the left, ceil(log2 N) rounds for any N", exchange_knobs,
     build_allgather},
    {"allgather_single_group_ring", Operation::allgather, Between::single_group_ring,
     "Qian, Rashti, Afsahi 2010, section 4 (the baseline, in the form of table 1)",
     "one master per node gathers, a ring of masters, N - 1 rounds, each hands all data to its node", single_ring_knobs,
     build_group_allgather},
    {"allgather_single_group_direct", Operation::allgather, Between::single_group_direct,
     "Qian, Rashti, Afsahi 2010, section 5.1",
     "one master per node gathers, sends to all others at once over N - 1 connections, hands all data to its node",
     direct_knobs, build_group_allgather},
    {"allgather_multi_group", Operation::allgather, Between::multi_group, "Qian, Rashti, Afsahi 2010, section 5.3",
     "g masters per node gather their shares, each exchanges with its group over N - 1 connections, g (N - 1) per "
     "node; every master hands its group's data to its node",
     group_knobs, build_group_allgather},
    {"allgather_multi_group_lean", Operation::allgather, Between::multi_group_lean,
     "after Qian, Rashti, Afsahi 2010, section 5.3",
     "as multi_group, but a node's own data are shared once and never again, masters do not read what they have, and "
     "what has come is spread, and round a ring sent on, while the rest is on the wire",
     group_knobs, build_group_allgather},
    {"allgather_gather_based", Operation::allgather, Between::gather_based, "Qian, Rashti, Afsahi 2010, section 5.2",
     "all ranks of a node share their data; g of them send the node's data to N - 1 other nodes, each to the one "
     "master there that gathers everything; it hands all data to its node",
     gather_knobs, build_gather_based_allgather},
    {"alltoall_pairwise", Operation::alltoall, Between::pairwise, "Wu, Kendall, Aluru 2005, section 8.3",
     "every rank exchanges with each rank of other nodes itself, in an order that spreads partners over the network, "
     "eight exchanges at a time or as many as connections; shared memory serves neighbours meanwhile",
     swap_knobs, build_alltoall},
    {"alltoall_flat", Operation::alltoall, Between::flat,
     "Wu, Kendall, Aluru 2005, section 8.3 (gather, exchange between leaders, scatter)",
     "leaders exchange all their ranks' short blocks: N - 1 messages per node, two more copies of each block; by "
     "relays (exchange=bruck; Bruck et al. 1997) about (k - 1) log_k N messages, each byte up to log_k N times",
     swap_leader_knobs, build_alltoall_leaders, why_no_alltoall_leaders},
    {"alltoall_multi_group", Operation::alltoall, Between::multi_group,
     "after Qian, Rashti, Afsahi 2010, sections 5.3 and 8; Kumar, Mamidala, Panda 2008",
     "as flat, by g leaders per node, each for every g-th other node: as many messages, on more connections and cores; "
     "by relays each leader passes on what its group has for others",
     group_swap_knobs, build_alltoall_leaders, why_no_alltoall_leaders},
    {"reduce_knomial", Operation::reduce, Between::knomial, "Thakur, Rabenseifner, Gropp 2005, section 4.4",
     "nodes combine, then a k-nomial tree of N leaders in node order, ceil(log_k N) rounds; every leader sends the "
     "vector once, one more message unless operands may change places",
     tree_knobs, build_reduce, why_no_reduce},
    {"reduce_chain", Operation::reduce, Between::chain, "Barnett et al. 1994 (pipelined chain)",
     "nodes combine, then each of N leaders adds its own to what comes from the one behind it and hands segments on, "
     "N - 1 rounds + segments; every leader sends and receives the vector once",
     sum_ring_knobs, build_reduce, why_no_reduce},
    {"reduce_rabenseifner", Operation::reduce, Between::rabenseifner,
     "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.4",
     "leaders halve what they combine at distances 1, 2, 4, …, then a binomial tree gathers the slices, 2 log2 N "
     "rounds (one or two more unless N is a power of two); every leader sends the vector once, none combines it more "
     "than once",
     segment_knobs, build_reduce, why_no_reduce},
    {"reduce_gather_reduce", Operation::reduce, Between::gather_reduce, "Thakur, Rabenseifner, Gropp 2005, section 4.4",
     "leaders send their nodes' vectors, uncombined, to the root's, one round; the root folds all in rank order, on "
     "any placement",
     segment_knobs, build_reduce, why_no_reduce},
    {"allreduce_gather_reduce", Operation::allreduce, Between::gather_reduce, "Wu, Kendall, Aluru 2005, section 5",
     "one node: every rank folds everyone's vector for itself, one synchronisation per piece; reads p - 1 vectors. "
     "Several: leaders swap all vectors, one round, and fold them in rank order, on any placement",
     segment_knobs, build_allreduce, why_no_allreduce},
    {"allreduce_recursive_doubling", Operation::allreduce, Between::recursive_doubling,
     "Thakur, Rabenseifner, Gropp 2005, section 4.5",
     "leaders swap whole vectors at distances 1, 2, 4, …, log2 N rounds (two more unless N is a power of two), the "
     "vector each; on one node every rank folds one slice for all",
     sum_knobs, build_allreduce, why_no_allreduce},
    {"allreduce_rabenseifner", Operation::allreduce, Between::rabenseifner,
     "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.5",
     "leaders halve what they combine at distances 1, 2, 4, …, then double it back, 2 log2 N rounds (two more unless "
     "N is a power of two); every leader sends 2 (N - 1)/N of the vector",
     sum_knobs, build_allreduce, why_no_allreduce},
    {"allreduce_ring", Operation::allreduce, Between::ring, "Patarasuk, Yuan 2009",
     "every leader's share of the vector goes round and collects, then goes round as the result, 2 (N - 1) rounds; "
     "every leader sends 2 (N - 1)/N of the vector for any N; operands change places",
     sum_ring_knobs, build_allreduce, why_no_allreduce},
    {"allreduce_multi_group", Operation::allreduce, Between::multi_group,
     "Bayatpour et al. 2017 (data partitioning, multi-leader)",
     "g masters per node each fold a g-th of the vector for their node, combine it with the other nodes' masters of "
     "the same slice in a ring, by recursive doubling or (direct) dividing it by radix and back, and hand it out; "
     "segments overlap, as many of them between the nodes as connections allow",
     group_sum_knobs, build_group_allreduce, why_no_group_allreduce},
    {"reduce_scatter_pairwise", Operation::reduce_scatter, Between::pairwise,
     "Thakur, Rabenseifner, Gropp 2005, section 4.3",
     "leaders send each other node's part of the vector directly, N - 1 messages, (N - 1)/N of the vector; on one node "
     "every rank folds its own block",
     part_knobs, build_reduce_scatter, why_no_reduce_scatter},
    {"reduce_scatter_rabenseifner", Operation::reduce_scatter, Between::rabenseifner,
     "Thakur, Rabenseifner, Gropp 2005, section 4.3 (recursive halving)",
     "leaders halve what they combine at distances 1, 2, 4, … (or from the farthest on, where that is shorter with "
     "different blocks), log2 N rounds (two more unless N is a power of two), (N - 1)/N of the vector: a message each "
     "way at a time, and parts are combined on their way",
     exchange_knobs, build_reduce_scatter, why_no_reduce_scatter},
    {"reduce_scatter_gather_reduce", Operation::reduce_scatter, Between::gather_reduce,
     "Thakur, Rabenseifner, Gropp 2005, section 4.4",
     "leaders swap all vectors, uncombined, one round; each folds its node's blocks in rank order, on any placement",
     exchange_knobs, build_reduce_scatter, why_no_reduce_scatter},
    {"reduce_scatter_multi_group", Operation::reduce_scatter, Between::multi_group,
     "after Qian, Rashti, Afsahi 2010, sections 5.3 and 8; Thakur, Rabenseifner, Gropp 2005, section 4.3",
     "as pairwise, by g masters per node, each for the blocks of its group's ranks: g (N - 1) connections per node, "
     "all cores fold",
     group_part_knobs, build_group_reduce_scatter, why_no_group_reduce_scatter},
    {"scan_chain", Operation::scan, Between::chain, "Hillis, Steele 1986 (serial form), pipelined",
     "each rank adds its own to the prefix of the one before and hands it on; ranks - 1 hops + pieces", cell_knobs,
     build_scan, why_no_scan},
    {"scan_recursive_doubling", Operation::scan, Between::recursive_doubling,
     "Hillis, Steele 1986; Thakur, Rabenseifner, Gropp 2005, section 4",
     "the last rank of each node sends what it has summed up 1, 2, 4, … nodes on, ceil(log2 N) rounds, and hands out "
     "what came; ranks do so for themselves where nodes do not hold consecutive ones",
     cell_knobs, build_scan, why_no_scan},
    {"scan_gather_reduce", Operation::scan, Between::gather_reduce, "Wu, Kendall, Aluru 2005, section 5",
     "one node: every rank folds the vectors of all lower ranks, one synchronisation per piece", pairwise_knobs,
     build_scan, why_no_scan},
    {"exscan_chain", Operation::exscan, Between::chain, "Hillis, Steele 1986 (serial form), pipelined",
     "as scan_chain; each rank keeps the prefix that it was handed", cell_knobs, build_scan, why_no_scan},
    {"exscan_recursive_doubling", Operation::exscan, Between::recursive_doubling, "Hillis, Steele 1986",
     "as scan_recursive_doubling, without the own vector", cell_knobs, build_scan, why_no_scan},
    {"exscan_gather_reduce", Operation::exscan, Between::gather_reduce, "Wu, Kendall, Aluru 2005, section 5",
     "as scan_gather_reduce, without the own vector", pairwise_knobs, build_scan, why_no_scan},
    {"barrier_dissemination", Operation::barrier, Between::dissemination, "Hensgen, Finkel, Manber 1988",
     "leaders signal 2^k nodes to the right, ceil(log2 N) rounds", signal_knobs, build_barrier},
};

/// `act(word)` for each of those between spaces.
template <class Act>
void for_each_word(std::string_view text, Act act) {
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    act(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
}

std::string_view name_in(std::string_view knob) { return knob.substr(0, knob.find('=')); }

std::string names_of(Operation operation) {
  std::string names;
  for (const Algorithm& algorithm : table)
    if (algorithm.operation == operation) names += (names.empty() ? "" : ", ") + std::string(name(algorithm.between));
  return names;
}

}  // namespace

std::span<const Algorithm> algorithms() { return table; }

bool Algorithm::has_knob(std::string_view name) const {
  bool has = false;
  for_each_word(knobs, [&](std::string_view word) { has = has || name_in(word) == name; });
  return has;
}

std::string describe_knobs(const Algorithm& algorithm) {
  std::string text;
  for_each_word(algorithm.knobs, [&](std::string_view word) {
    text += (text.empty() ? "" : " ") + std::string(word);
    if (name_in(word) == word) text += "=" + plan::find_knob(word).values();
  });
  return text;
}

const Algorithm& find_algorithm(Operation operation, std::string_view text) {
  for (const Algorithm& algorithm : table)
    if (algorithm.operation == operation && (text == algorithm.name || text == name(algorithm.between)))
      return algorithm;
  throw Error("unknown algorithm '" + std::string(text) + "' for " + name(operation) + ": one of " +
              names_of(operation));
}

const Algorithm& find_algorithm(Operation operation, Between between) {
  return find_algorithm(operation, name(between));
}

}  // namespace espalier::collectives
