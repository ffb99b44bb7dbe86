#include "algorithms/allgather/group_prices.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/allgather/group_data.hpp"

namespace espalier::algorithms {

using cost::Phase;
using plan::Exchange;

namespace {

double cuts(const Scene& s, double share) {
  return s.choice.segment == 0 ? 1 : std::ceil(share / static_cast<double>(s.choice.segment));
}

/// A master has `shares` to send on each of `connections`: how long its node's link, its processor and a connection
/// are busy with them. The receiver is as busy as the sender.
double exchange_time(const Scene& s, const GroupsOfNode& groups, double shares, double connections) {
  const double messages = shares * groups.messages * connections;
  const double link = groups.count * messages * s.network.serial(groups.message());
  const double at_once = s.choice.connections > 0 ? std::min<double>(s.choice.connections, connections) : connections;
  const bool is_held = groups.message() > s.is.eager || s.choice.connections == 0;
  const double flow = messages / (is_held ? at_once : connections) * s.network.carried(groups.message());
  return std::max({link, flow, 2 * messages * s.is.overhead});
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
Phase spread_of(const Scene& s, const GroupsOfNode& groups, double stretch) {
  const bool others = groups.count < s.on_node;
  return {.stretch = stretch,
          .run = groups.run,
          .writers = static_cast<double>(groups.count),
          .taken = groups.count - (others || groups.is_staged ? 0.0 : 1.0),
          .readers = static_cast<double>(s.on_node - (groups.count == 1 && !groups.is_staged ? 1 : 0)),
          .is_both = groups.count > 1 || groups.is_staged};
}

/// Round a ring every segment goes on when it has come, and is spread behind that.
double lean_ring_time(const Scene& s, const GroupsOfNode& groups) {
  const double all = exchange_time(s, groups, 1, 1), segment = all / groups.messages;
  const Phase spread = spread_of(s, groups, groups.message());
  const double busy = 2 * s.is.overhead + s.node.phase_work(spread);
  const double round = std::max({all, groups.messages * busy, s.network.delay() + segment});
  return (s.nodes - 2) * round + s.network.delay() + std::max(all, (groups.messages - 1) * busy + segment) +
         s.node.phase(spread);
}

/// What has come is spread while the rest is on the wire.
double lean_direct_time(const Scene& s, const GroupsOfNode& groups) {
  const Phase spread = spread_of(s, groups, groups.message());
  const double pieces = groups.messages * (s.nodes - 1);
  const double all = exchange_time(s, groups, 1, s.nodes - 1), first = exchange_time(s, groups, 1, 1) / groups.messages;
  return s.network.delay() + std::max(all, first + (pieces - 1) * s.node.phase_work(spread)) + s.node.phase(spread);
}

}  // namespace

GroupsOfNode::GroupsOfNode(const Scene& s, int groups, bool is_in_place)
    : count(std::min(groups, s.on_node)),
      share(s.of_node() / count),
      blocks(static_cast<double>(s.on_node) / count),
      is_staged(stages_data(s.is_blocked, s.problem, s.choice) && !is_in_place),
      run(s.is_blocked ? share : s.bytes),
      messages(std::max(is_staged || s.is_blocked ? 1 : blocks, cuts(s, share))) {}

double price_groups(const Scene& s, const GroupsOfNode& groups, Exchange exchange) {
  double time = groups.blocks > 1 ? s.node.phase({.stretch = s.bytes,
                                                  .run = s.bytes,
                                                  .writers = static_cast<double>(s.on_node),
                                                  .taken = groups.blocks,
                                                  .readers = static_cast<double>(groups.count)})
                                  : s.node.copy(s.bytes);
  if (exchange == Exchange::direct)
    time += s.network.delay() + exchange_time(s, groups, 1, s.nodes - 1);
  else if (exchange == Exchange::ring)
    time += (s.nodes - 1) * (s.network.delay() + exchange_time(s, groups, 1, 1));
  else
    for_each_round(exchange, s.nodes,
                   [&](double shares) { time += s.network.delay() + exchange_time(s, groups, shares, 1); });
  return time + s.node.phase(spread_of(s, groups, s.nodes * groups.share));
}

double price_lean_groups(const Scene& s, const GroupsOfNode& groups) {
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

}  // namespace espalier::algorithms
