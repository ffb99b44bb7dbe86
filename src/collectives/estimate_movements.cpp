// Closed forms of the operations that only move data.

#include <algorithm>
#include <limits>

#include "collectives/node_order.hpp"
#include "collectives/scene.hpp"
#include "collectives/words.hpp"
#include "groups/rounds.hpp"

namespace espalier::collectives {

using plan::Within;

namespace {

/// A pipeline of segments down a tree: the first one's way, then one after the other at the pace of the slowest part,
/// which is a speaker's link, or its processor that hands on and passes to its node, or the node.
double tree_time(const Scene& s, double way, double degree) {
  const double link = s.network.at_once(degree, s.segment());
  const double speaker = degree * s.is.overhead + s.node.spread_writer(s.segment());
  const double pace = std::max({link, speaker, s.node.spread_reader(s.segment())});
  return way + (s.segments() - 1) * pace + s.node.spread(s.segment());
}

/// Rounds in each of which a leader gets up to radix - 1 times as many chunks as it has; what has come is spread while
/// the next is on its way.
double bruck_time(const Scene& s, double chunk) {
  double time = 0, last = 0;
  for (int distance = 1; distance < s.nodes; distance *= s.choice.radix) {
    const int messages = std::min(s.choice.radix, (s.nodes + distance - 1) / distance) - 1;
    const int chunks = std::min(messages * distance, s.nodes - distance);
    const double wait = 2 - 1.0 / messages;  // for senders that are late, and that hold up others
    const double trunk = chunks * chunk * s.crowding.at(distance * (messages + 1) / 2.0);
    const double link = wait * std::max(s.network.at_once(messages, chunks * chunk / messages), trunk);
    const double run = std::min(distance, s.nodes - distance) * chunk;
    const double passing = (messages - 1) * std::max(s.node.spread_writer(run), s.node.spread_reader(run));
    time += std::max(s.network.delay() + link + 2 * (messages - 1) * s.is.overhead, last + passing);
    last = s.node.spread(run);
  }
  return time + last;
}

/// When the last vertex of a binary tree has the first segment: of trees of `count` vertices and of one more. A child's
/// subtree has half of the vertices below its parent, the first child's the larger half.
struct BinaryWays {
  double count, one_more;
};

BinaryWays binary_ways(int count, double message, double serial) {
  constexpr double none = -std::numeric_limits<double>::infinity();
  if (count == 0) return {none, 0};
  const BinaryWays half = binary_ways((count - 1) / 2, message, serial);
  const auto from = [&](double first, double second) {
    return std::max({0.0, message + first, message + serial + second});
  };
  return count % 2 == 1 ? BinaryWays{from(half.count, half.count), from(half.one_more, half.count)}
                        : BinaryWays{from(half.one_more, half.count), from(half.one_more, half.one_more)};
}

/// Chunks go down a tree, halved (more) at each hop, then round a ring; every chunk is spread while the next is on its
/// way.
double scatter_allgather_time(const Scene& s) {
  const double chunk = s.bytes / s.nodes;
  const double rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const double scatter = rounds * s.network.delay() + (s.nodes - 1) * chunk / s.is.connection_rate();
  if (s.choice.exchange == plan::Exchange::bruck) return scatter + bruck_time(s, chunk);
  const double speaker = s.is.overhead + s.node.spread_writer(chunk);
  const double round = std::max({s.network.message(chunk), speaker, s.node.spread_reader(chunk)});
  return scatter + (s.nodes - 1) * round + s.node.spread(chunk);
}

/// Round a ring both ways: of two rounds the next ones need a message each. Those to the right and to the left go by
/// turns, so that one has its leader's links for itself unless they are busy all the time; in between it is spread what
/// came the other way.
double two_way_ring_time(const Scene& s) {
  const int rounds = s.nodes - 1;
  const double turn = s.network.message(s.of_node()) + s.node.spread_writer(s.of_node());
  const double both = std::max(turn, s.network.at_once(2, s.of_node())) + 2 * s.handing_over;
  const double last = s.network.message(s.of_node()) + s.handing_over;
  const double speaker = s.is.overhead + s.node.spread_writer(s.of_node());
  const double pace = std::max(speaker, s.node.spread_reader(s.of_node()));
  return std::max(rounds / 2 * both + rounds % 2 * last, last + (rounds - 1) * pace) + s.node.spread(s.of_node());
}

/// Round a ring. Whole messages go in step with the longest; of segments every link carries all but what its far end
/// has, one behind the other.
double ring_time(const Scene& s, const NodeData& data) {
  const bool is_two_way = s.nodes >= groups::two_way_nodes;
  const auto busy = [&](double bytes) {
    return std::max(s.is.overhead + s.node.spread_writer(bytes), s.node.spread_reader(bytes));
  };
  const auto hop = [&](double bytes) { return std::max(s.network.message(bytes), busy(bytes)) + s.handing_over; };
  if (s.choice.segment == 0)
    return is_two_way ? two_way_ring_time(s) : (s.nodes - 1) * hop(data.most) + s.node.spread(data.most);
  const double piece = data.most / std::ceil(data.most / static_cast<double>(s.choice.segment));
  const double link = std::max(s.network.carried(piece), 2 * s.is.overhead) + s.handing_over;
  const double links = (data.all - data.least) / piece * link + s.network.delay();
  const double nodes = data.all / piece * (busy(piece) + s.handing_over);
  const int hops = is_two_way ? s.nodes / 2 : s.nodes - 1;
  return std::max({links, nodes, hops * hop(piece)}) + s.node.spread(piece);
}

/// Data that lie node by node must be put into rank order, or taken out of it, rank by rank.
double reorder_time(const Scene& s, double blocks) { return s.is_blocked ? 0 : blocks * s.node.copy(s.bytes); }

/// An allgather's leader has `bytes` that are in the order of ranks, or in so many runs of another order: rank by rank
/// where nodes' blocks do not follow each other, node by node where far ones come first.
double runs_of(const Scene& s, double bytes) {
  const double run = s.is_blocked ? s.of_node() : s.bytes;
  return !s.is_blocked || goes_far_first(s.choice) ? std::max(1.0, bytes / run) : 1;
}

/// What it copies of them into its own result, and what others take longer for taking them run by run.
double own_copy(const Scene& s, double bytes) {
  const bool is_apart = !s.is_blocked || goes_far_first(s.choice);
  return is_apart ? runs_of(s, bytes) * s.node.copy(bytes / runs_of(s, bytes)) : 0;
}
double taking_apart(const Scene& s, double bytes) {
  const bool is_single_copy = s.choice.within == Within::single_copy;
  const double one = is_single_copy ? s.is.single_copy.fixed + (s.on_node - 2) * s.is.together : s.is.get.fixed;
  return s.on_node == 1 ? 0 : (runs_of(s, bytes) - 1) * (one + s.is.step);
}

/// Rounds of doubling or of Bruck; what has come is spread while the next is on its way.
double doubling_time(const Scene& s, const NodeData& data) {
  const auto round = [&](int distance, int sent, int passed) {
    const double wire = s.message_to(distance, data.of(sent, s.nodes)), come = data.of(passed, s.nodes);
    const double own = s.is.overhead + own_copy(s, come);
    if (is_spread_at_end(s.choice)) return std::max(wire, own) + s.handing_over;
    const double reader = s.node.spread_reader(come) + taking_apart(s, come);
    return std::max({wire, own + s.node.spread_writer(come), reader}) + s.handing_over;
  };
  const bool is_doubling = s.choice.between == Between::recursive_doubling;
  const int rest = s.nodes - (1 << (cost::rounds_of(s.nodes + 1) - 1));  // beyond the last power of two
  const int reached = is_doubling ? s.nodes - rest : s.nodes;
  double time = 0;
  int passed = 1;
  for (int has = 1; has < reached; has *= 2) {
    const int sent = std::min(has, reached - has);
    time += round(goes_far_first(s.choice) ? reached / (2 * has) : has, sent, passed);
    passed = sent;
  }
  if (is_doubling && rest > 0) time += round(0, 1, 1) + round(0, s.nodes, passed), passed = s.nodes - 1;
  const double last = data.of(passed, s.nodes);
  if (is_spread_at_end(s.choice)) return time + own_copy(s, last) + s.node.spread(data.all);
  return time + std::max(s.node.spread(last) + taking_apart(s, last), s.node.spread_writer(last) + own_copy(s, last));
}

/// Messages in which the blocks of one node travel: segments, where there are any.
double messages_of_node(const Scene& s) {
  const bool is_cut = s.choice.segment > 0 && s.choice.between != Between::pairwise;
  return is_cut ? std::max(1.0, std::ceil(s.of_node() / static_cast<double>(s.choice.segment))) : 1;
}

/// What a node does with its own blocks while no message of theirs is under way: with one segment of several.
double exposed(const Scene& s, double node_time) { return node_time / messages_of_node(s); }

/// What a speaker received, dealt to its node: straight out of its cells when it fits them.
double deal_below(const Scene& s) {
  if (s.on_node == 1) return 0;
  const bool fits = s.of_node() <= static_cast<double>(s.choice.cell) * s.choice.cells;
  // Out of a speaker's cells all take their blocks at once, whoever of them is first.
  return s.choice.within == Within::cells && fits ? s.node.deal_in_place(s.bytes) : exposed(s, s.node.deal(s.bytes));
}

/// The root's link carries the blocks of all other nodes once, however they are bundled.
double rooted_wire_time(const Scene& s) {
  const double count = messages_of_node(s);
  if (s.choice.between == Between::pairwise) return s.network.delay() + s.network.several(s.elsewhere(), s.bytes);
  if (s.choice.between == Between::flat)
    return s.network.delay() +
           std::max(s.network.several((s.nodes - 1) * count, s.of_node() / count), s.network.carried(s.of_node()));
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const double least = count > 1 ? s.network.several((s.nodes - 1) * count, 0) : rounds * s.is.gap;
  return rounds * s.network.delay() + std::max(least, (s.nodes - 1) * s.of_node() / s.is.connection_rate());
}

bool has_groups(Between between) {
  return between == Between::single_group_ring || between == Between::single_group_direct ||
         between == Between::multi_group || between == Between::multi_group_lean;
}

double messages_of_root(const Scene& s) {
  if (s.choice.between == Between::pairwise) return s.elsewhere();
  if (s.choice.between == Between::flat || messages_of_node(s) > 1) return (s.nodes - 1) * messages_of_node(s);
  return (s.choice.radix - 1) * cost::rounds_of(s.nodes, s.choice.radix);
}

}  // namespace

double estimate_broadcast(const Scene& s) {
  if (s.nodes == 1) return s.node.spread(s.bytes);
  if (s.choice.between == Between::multi_group) return estimate_group_broadcast(s);
  const double message = s.network.message(s.segment());
  switch (s.choice.between) {
    case Between::scatter_allgather: return scatter_allgather_time(s);
    case Between::chain: return tree_time(s, (s.nodes - 1) * message, 1);
    case Between::binary:
      return tree_time(s, binary_ways(s.nodes, message, s.network.several(1, s.segment())).count,
                       std::min(2, s.nodes - 1));
    case Between::flat:
      return tree_time(s, s.network.delay() + s.network.several(s.nodes - 1, s.segment()), s.nodes - 1);
    default: break;
  }
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const int children = std::min(s.nodes, s.choice.radix) - 1;  // in one round
  const double way = rounds * (message + s.network.several(children - 1, s.segment()));
  return tree_time(s, way, std::min(s.nodes - 1, rounds * children));
}

double estimate_scatter(const Scene& s) {
  if (s.nodes == 1) return s.node.deal(s.bytes);
  const bool is_pairwise = s.choice.between == Between::pairwise;
  const double pack = is_pairwise ? 0 : reorder_time(s, s.elsewhere());
  const double root = messages_of_root(s) * s.is.overhead + s.node.deal(s.bytes);
  return pack + std::max(root, rooted_wire_time(s) + (is_pairwise ? 0 : deal_below(s)));
}

double estimate_gather(const Scene& s) {
  const double own = s.node.collect(s.bytes);
  if (s.nodes == 1) return own;
  // Messages of as many ranks share the root's link and arrive together.
  if (s.choice.between == Between::pairwise)
    return s.network.delay() + std::max(own, s.network.at_once(s.elsewhere(), s.bytes)) +
           (s.elsewhere() - 1) * s.is.overhead;
  const bool is_relayed = s.choice.between == Between::knomial && s.nodes > 2;
  const double below = s.on_node > 1 || is_relayed ? own : 0;
  const double last = s.network.message(s.of_node() / messages_of_node(s));
  return std::max(below + last, exposed(s, below) + rooted_wire_time(s)) + reorder_time(s, s.elsewhere());
}

double estimate_allgather(const Scene& s) {
  if (s.nodes == 1) return s.node.exchange(s.bytes);
  if (s.choice.between == Between::gather_based) return estimate_gather_based_allgather(s);
  if (has_groups(s.choice.between)) return estimate_group_allgather(s);
  // A rank that is alone on its node sends its block first and copies it meanwhile.
  const double hidden = s.on_node == 1 && !goes_far_first(s.choice) ? s.network.message(s.bytes) : 0;
  const double begin = std::max(0.0, s.node.collect(s.bytes) - hidden);
  const NodeData data = node_data(s);
  if (s.choice.between == Between::ring) return begin + ring_time(s, data) + reorder_time(s, s.ranks);
  return begin + doubling_time(s, data);
}

double estimate_barrier(const Scene& s) {
  const double node = s.on_node > 1 ? s.node.flag() : 0;
  if (s.nodes == 1) return node;
  return 2 * node + cost::rounds_of(s.nodes) * s.network.message(0);
}

}  // namespace espalier::collectives
