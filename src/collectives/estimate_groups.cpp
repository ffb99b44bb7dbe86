// Closed forms of what groups of masters do between nodes, and for their nodes.

#include <algorithm>

#include "collectives/group_data.hpp"
#include "collectives/scene.hpp"
#include "collectives/words.hpp"

namespace espalier::collectives {

using cost::Phase;
using plan::Exchange;

namespace {

/// The masters of one node, and what each of its groups brings to an allgather.
struct Groups {
  explicit Groups(const Scene& s)
      : count(std::min(is_single(s) ? 1 : s.choice.groups, s.on_node)),
        share(s.of_node() / count),
        blocks(static_cast<double>(s.on_node) / count),
        is_staged(stages_data(s.is_blocked, s.problem, s.choice) && !is_in_place(s)),
        run(s.is_blocked ? share : s.bytes),
        messages(std::max(is_staged || s.is_blocked ? 1 : blocks, cuts(s))) {}

  static bool is_single(const Scene& s) {
    return s.choice.between == Between::single_group_ring || s.choice.between == Between::single_group_direct;
  }
  static bool is_in_place(const Scene& s) {
    return s.choice.between == Between::gather_based && s.is_blocked && s.on_node == 1;
  }
  double cuts(const Scene& s) const {
    return s.choice.segment == 0 ? 1 : std::ceil(share / static_cast<double>(s.choice.segment));
  }

  int count;
  double share;     ///< bytes of a node in one group
  double blocks;    ///< of so many ranks
  bool is_staged;   ///< masters exchange copies
  double run;       ///< bytes that are one run in the result
  double messages;  ///< that a share is sent as

  double message() const { return share / messages; }
};

/// A master has `shares` to send on each of `connections`: how long its node's link, its processor and a connection
/// are busy with them. The receiver is as busy as the sender.
double exchange_time(const Scene& s, const Groups& groups, double shares, double connections) {
  const double messages = shares * groups.messages * connections;
  const double link = groups.count * messages * s.network.serial(groups.message());
  const double at_once = s.choice.connections > 0 ? std::min<double>(s.choice.connections, connections) : connections;
  const bool is_held = groups.message() > s.is.eager || s.choice.connections == 0;
  const double flow = messages / (is_held ? at_once : connections) * s.network.carried(groups.message());
  return std::max({link, flow, 2 * messages * s.is.overhead});
}

Exchange exchange_of(const Scene& s) {
  if (s.choice.between == Between::single_group_ring) return Exchange::ring;
  if (s.choice.between == Between::single_group_direct) return Exchange::direct;
  return s.choice.exchange;
}

/// Calls `round(shares)` for the rounds of doubling or of Bruck: what a master sends in each, in shares of a node.
template <class Round>
void for_each_round(Exchange exchange, int nodes, Round round) {
  const int core = 1 << (cost::rounds_of(nodes + 1) - 1);  // the last power of two
  const bool is_doubling = exchange == Exchange::recursive_doubling, leans = is_doubling && core < nodes;
  const int reached = is_doubling ? core : nodes;
  if (leans) round(1);
  for (int has = 1; has < reached; has *= 2) round(std::min(has, reached - has) * (leans ? 2 : 1));
  if (leans) round(nodes - 1);
}

/// What the masters of a node have of their groups, `stretch` bytes each, to everyone.
Phase spread_of(const Scene& s, const Groups& groups, double stretch) {
  const bool others = groups.count < s.on_node;
  return {.stretch = stretch,
          .run = groups.run,
          .writers = static_cast<double>(groups.count),
          .taken = groups.count - (others || groups.is_staged ? 0.0 : 1.0),
          .readers = static_cast<double>(s.on_node - (groups.count == 1 && !groups.is_staged ? 1 : 0)),
          .is_both = groups.count > 1 || groups.is_staged};
}

double paper_time(const Scene& s, const Groups& groups) {
  double time = groups.blocks > 1 ? s.node.phase({.stretch = s.bytes,
                                                  .run = s.bytes,
                                                  .writers = static_cast<double>(s.on_node),
                                                  .taken = groups.blocks,
                                                  .readers = static_cast<double>(groups.count)})
                                  : s.node.copy(s.bytes);
  if (exchange_of(s) == Exchange::direct)
    time += s.network.delay() + exchange_time(s, groups, 1, s.nodes - 1);
  else if (exchange_of(s) == Exchange::ring)
    time += (s.nodes - 1) * (s.network.delay() + exchange_time(s, groups, 1, 1));
  else
    for_each_round(exchange_of(s), s.nodes,
                   [&](double shares) { time += s.network.delay() + exchange_time(s, groups, shares, 1); });
  return time + s.node.phase(spread_of(s, groups, s.nodes * groups.share));
}

/// Round a ring every segment goes on when it has come, and is spread behind that.
double lean_ring_time(const Scene& s, const Groups& groups) {
  const double all = exchange_time(s, groups, 1, 1), segment = all / groups.messages;
  const Phase spread = spread_of(s, groups, groups.message());
  const double busy = 2 * s.is.overhead + s.node.phase_work(spread);
  const double round = std::max({all, groups.messages * busy, s.network.delay() + segment});
  return (s.nodes - 2) * round + s.network.delay() + std::max(all, (groups.messages - 1) * busy + segment) +
         s.node.phase(spread);
}

/// What has come is spread while the rest is on the wire.
double lean_direct_time(const Scene& s, const Groups& groups) {
  const Phase spread = spread_of(s, groups, groups.message());
  const double pieces = groups.messages * (s.nodes - 1);
  const double all = exchange_time(s, groups, 1, s.nodes - 1), first = exchange_time(s, groups, 1, 1) / groups.messages;
  return s.network.delay() + std::max(all, first + (pieces - 1) * s.node.phase_work(spread)) + s.node.phase(spread);
}

double lean_time(const Scene& s, const Groups& groups) {
  const double copies = groups.is_staged ? groups.blocks * s.node.copy(s.bytes) : 0;
  const double begin = s.node.exchange(s.bytes) + copies;
  const double unstaged = copies * (s.nodes - 1);
  if (s.choice.exchange == Exchange::ring) return begin + lean_ring_time(s, groups) + unstaged;
  if (s.choice.exchange == Exchange::direct) return begin + lean_direct_time(s, groups) + unstaged;
  double time = begin, passed = 0;
  for_each_round(s.choice.exchange, s.nodes, [&](double shares) {
    const double wire = s.network.delay() + exchange_time(s, groups, shares, 1);
    time += std::max(wire, s.node.phase(spread_of(s, groups, passed * groups.share)));
    passed = shares;
  });
  return time + s.node.phase(spread_of(s, groups, passed * groups.share)) + unstaged;
}

}  // namespace

double estimate_group_allgather(const Scene& s) {
  const Groups groups(s);
  return s.choice.between == Between::multi_group_lean ? lean_time(s, groups) : paper_time(s, groups);
}

/// Every node's data go to N - 1 masters elsewhere, each from the group's rank there.
double estimate_gather_based_allgather(const Scene& s) {
  const Groups groups(s);
  const double runs = groups.is_staged || s.is_blocked ? 1 : s.on_node;
  const double share = s.node.phase({.stretch = s.bytes,
                                     .run = s.bytes,
                                     .writers = static_cast<double>(s.on_node),
                                     .taken = static_cast<double>(s.on_node),
                                     .readers = static_cast<double>(s.on_node)});
  const double messages = runs * (s.nodes - 1), bytes = s.of_node() / runs;
  const double at_once = s.on_node == 1 ? s.network.crossing(messages, bytes) : messages * s.network.serial(bytes);
  const double link = std::max(at_once, runs * s.network.carried(bytes));
  const double sent = messages / groups.count * s.is.overhead, received = messages * s.is.overhead;
  const double all = s.bytes * s.ranks;
  const Phase spread{.stretch = all,
                     .run = s.is_blocked ? all : s.bytes,
                     .readers = static_cast<double>(s.on_node - (groups.is_staged ? 0 : 1)),
                     .is_both = groups.is_staged};
  // A master sends its part before it takes what has come meanwhile.
  const double carried = std::max(link, s.crowding.among_all(s.nodes) * s.of_node());
  const double came = s.is.latency + s.is.overhead + carried;
  return share + std::max(sent, came) + received + s.node.phase(spread);
}

namespace {

/// Masters of a node where each speaks for as many groups as it must.
struct NodeMasters {
  explicit NodeMasters(const Scene& s)
      : groups(s.choice.groups),
        count(std::min(s.choice.groups, s.on_node)),
        turns(std::ceil(static_cast<double>(groups) / count)) {}

  int groups;
  int count;     ///< ranks of a node that speak
  double turns;  ///< groups that one of them speaks for

  /// So many bytes of each group to everyone, who have them at the same place.
  Phase spread(const Scene& s, double bytes) const {
    return {.stretch = bytes,
            .run = bytes,
            .writers = static_cast<double>(count),
            .taken = count - (count < s.on_node ? 0.0 : 1.0),
            .readers = static_cast<double>(s.on_node - (count == 1 ? 1 : 0)),
            .is_both = count > 1};
  }
};

}  // namespace

/// Rounds of a segment for each group. On the root's node the root writes them for all masters; elsewhere masters write
/// their own.
double estimate_group_broadcast(const Scene& s) {
  const NodeMasters masters(s);
  const double most = masters.groups * (s.choice.segment > 0 ? static_cast<double>(s.choice.segment) : s.bytes);
  const double rounds = std::max(1.0, std::ceil(s.bytes / most)), segment = s.bytes / (rounds * masters.groups);
  const bool is_flat = s.choice.exchange == Exchange::direct, is_chain = s.choice.exchange == Exchange::ring;
  const int hops = is_flat ? 1 : is_chain ? s.nodes - 1 : cost::rounds_of(s.nodes);
  const double degree = is_chain ? 1 : is_flat ? s.nodes - 1 : hops;
  const double link = std::max({masters.groups * degree * s.network.serial(segment),
                                masters.turns * s.network.carried(segment), masters.turns * degree * s.is.overhead});
  const double hop = s.network.delay() + (is_flat ? link
                                                  : std::max(masters.groups * s.network.serial(segment),
                                                             masters.turns * s.network.carried(segment)));
  const Phase shown{.stretch = masters.groups * segment,
                    .run = masters.groups * segment,
                    .readers = static_cast<double>(s.on_node - 1),
                    .is_both = false};
  const Phase spread = masters.spread(s, segment);
  const double node = std::max(s.node.phase_work(shown), masters.turns * s.node.phase_work(spread) + s.is.overhead);
  return (masters.count > 1 ? s.node.phase(shown) : 0) + hops * hop + (rounds - 1) * std::max(link, node) +
         masters.turns * s.node.phase(spread);
}

/// Masters fold for one node after the other; what is folded is on its way meanwhile.
double estimate_group_reduce_scatter(const Scene& s) {
  const NodeMasters masters(s);
  const int count = masters.count;
  const double share = s.of_node() / count, runs = s.is_blocked ? 1 : static_cast<double>(s.on_node) / count;
  const double fold = runs * s.node.fold_slices(share / runs, count, count) + s.is.overhead;
  const double wire = fold + s.network.at_once(count * (s.nodes - 1.0), share) + s.network.delay();
  const double carried = fold + s.network.carried(share) + s.network.delay();
  const Phase shown{.stretch = share,
                    .run = s.bytes,
                    .writers = static_cast<double>(count),
                    .taken = 1 / (share / s.bytes),
                    .readers = static_cast<double>(s.on_node)};
  return std::max({s.nodes * fold, wire, carried}) + (s.nodes - 1) * (s.is.overhead + s.node.combine(share)) +
         s.node.copy(s.bytes) + (count < s.on_node ? s.node.phase(shown) : 0);
}

}  // namespace espalier::collectives
