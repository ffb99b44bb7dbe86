// Closed forms of the reductions.

#include <algorithm>
#include <bit>
#include <vector>

#include "collectives/node_parts.hpp"
#include "collectives/part_order.hpp"
#include "collectives/scene.hpp"
#include "collectives/words.hpp"

namespace espalier::collectives {

namespace {

double reduce_tree_time(const Scene& s) {
  const double bytes = s.segment(), node = s.node.reduce_to_leader(bytes);
  const bool is_chain = s.choice.between == Between::chain;
  const int rounds = is_chain ? s.nodes - 1 : cost::rounds_of(s.nodes, s.choice.radix);
  const int hops = is_chain ? rounds : cost::depth_of(s.nodes, s.choice.radix);
  const int in_round = is_chain ? 1 : std::min(s.nodes, s.choice.radix) - 1;
  const double children = is_chain ? 1 : std::min(s.nodes - 1, rounds * in_round);
  const double last = s.network.message(bytes) + s.node.combine(bytes);
  const double another = std::max(s.network.serial(bytes), s.node.combine(bytes));
  const double way = node + hops * last + (rounds * in_round - hops) * another;
  const double processor = node + children * s.node.combine(bytes) + s.is.overhead;
  const double forward = s.problem.is_commutative ? 0 : s.network.message(bytes);
  return way + forward + (s.segments() - 1) * std::max({processor, s.network.at_once(children, bytes), forward});
}

/// All vectors, uncombined, to one leader or to all of them, which fold what they answer for.
double gather_reduce_time(const Scene& s) {
  const bool is_scattered = s.problem.operation == Operation::reduce_scatter;
  const double bytes = is_scattered ? s.bytes * s.ranks : s.segment(), segments = is_scattered ? 1 : s.segments();
  const double sent = s.problem.operation == Operation::reduce ? 0 : (s.nodes - 1) * s.is.overhead;
  const double gather = s.node.collect(bytes), links = s.network.several(s.nodes - 1, bytes * s.on_node) + sent;
  const double fold = (is_scattered ? s.on_node : 1) *
                      ((s.ranks - 1) * s.node.combine(s.bytes / segments) + s.node.copy(s.bytes / segments));
  const double all = gather + s.network.delay() + links + fold;
  if (s.problem.operation == Operation::allreduce) return segments * (all + s.node.hand_out(bytes));
  return all + (segments - 1) * std::max(gather + fold, links);  // what others send is not held up by the root
}

/// Rounds in which leaders swap half, a quarter, … of what they have with ever farther ones: the largest parts with
/// neighbours by number, which on most jobs are on one switch.
double halved_time(const Scene& s, double bytes, int rounds) {
  double time = rounds * s.network.delay();
  for (int i = 0; i < rounds; ++i) time += s.carried_to(1 << i, bytes / (2 << i));
  return time;
}

/// Leaders' vectors of `bytes`, combined everywhere.
double leaders_time(const Scene& s, double bytes) {
  const double share = static_cast<double>(s.nodes - 1) / s.nodes * bytes;
  const auto round = [&](double size) { return s.network.message(size) + s.node.combine(size); };
  if (s.choice.between == Between::ring)
    return (s.nodes - 1) * (round(bytes / s.nodes) + s.network.message(bytes / s.nodes));
  const int rounds = cost::rounds_of(s.nodes + 1) - 1;  // of the last power of two
  const double lend = (1 << rounds) < s.nodes ? round(bytes) + s.network.message(bytes) : 0;
  if (s.choice.between == Between::recursive_doubling) {
    double time = lend + rounds * s.node.combine(bytes);
    for (int i = 0; i < rounds; ++i) time += s.message_to(1 << i, bytes);
    return time;
  }
  return lend + 2 * halved_time(s, bytes, rounds) + s.node.combine(share);
}

/// An exchange among the masters of all groups of a node at once.
struct Exchanged {
  double way = 0;      ///< one master's rounds, had it the link for itself
  double busy = 0;     ///< what they cost its processor
  double serial = 0;   ///< what all masters' messages occupy the link for
  double longest = 0;  ///< in one round
  int rounds = 0;

  void add(const Exchanged& round, int times = 1) {
    way += times * round.way, busy += times * round.busy, serial += times * round.serial;
    rounds += times;
    longest = std::max(longest, round.longest);
  }
  /// Until the last master has its result: in the first rounds masters wait for each other, then they take turns.
  double time(const Scene& s) const {
    const double groups = s.choice.groups;
    return std::max(way + (serial + (groups - 1) * longest) / groups, serial + s.network.delay());
  }
};

/// A round in which each of the groups sends `count` messages, a node's `bytes` together, to nodes about `distance`
/// away, and combines as many.
Exchanged round_of(const Scene& s, double distance, double bytes, int count, double combined) {
  const int groups = s.choice.groups, own = (groups + s.on_node - 1) / s.on_node * count;
  const double serial = std::max({groups * count * s.is.gap, bytes / s.is.link_rate, bytes * s.crowding.at(distance)});
  const double adding = own * s.node.combine(combined), calls = 2 * own * s.is.overhead;
  const double held = std::max(0.0, s.network.carried(bytes / (groups * count)) - serial);  // by its connection alone
  return {s.is.latency + calls + adding + held, calls + adding, serial, serial, 1};
}

Exchanged exchange_of(const Scene& s, double bytes) {
  const double slice = bytes / s.choice.groups;
  const int doublings = cost::rounds_of(s.nodes + 1) - 1;
  Exchanged all;
  if (s.choice.exchange == plan::Exchange::ring) {
    all.add(round_of(s, 1, bytes / s.nodes, 1, slice / s.nodes), s.nodes - 1);
    all.add(round_of(s, 1, bytes / s.nodes, 1, 0), s.nodes - 1);
    return all;
  }
  if ((1 << doublings) < s.nodes) all.add(round_of(s, 1, bytes, 1, slice)), all.add(round_of(s, 1, bytes, 1, 0));
  if (s.choice.exchange == plan::Exchange::recursive_doubling) {
    for (int i = 0; i < doublings; ++i) all.add(round_of(s, 1 << i, bytes, 1, slice));
    return all;
  }
  for (int left = 1 << doublings, size = 0; left > 1; left /= size) {
    size = std::min(left, 1 << (cost::rounds_of(s.choice.radix + 1) - 1));
    const double others = static_cast<double>(size - 1) / size;
    const double common = static_cast<double>(left) / (1 << doublings);
    const double distance = size / (2 * common);
    all.add(round_of(s, distance, common * others * bytes, size - 1, common * slice / size));
    all.add(round_of(s, distance, common * others * bytes, size - 1, 0));
  }
  return all;
}

/// Segments go through folding, exchange and handing out one behind the other; a rank's own work is done in between.
double multi_group_time(const Scene& s) {
  const double segments = s.segments(), slice = s.segment() / s.choice.groups;
  const int own = (s.choice.groups + s.on_node - 1) / s.on_node;
  const double cell = static_cast<double>(s.choice.cell), slot = cell / s.choice.groups;
  const Exchanged exchange = exchange_of(s, s.segment());
  const int others = s.choice.groups < s.on_node ? s.choice.groups : s.choice.groups - own;  // of who is no master
  double fold = own * s.node.copy(slice), share = 0;
  if (s.on_node > 1) {
    const double pieces = std::ceil(slice / slot), piece = slice / pieces;
    const double waits = s.choice.cells > 1 ? 1 : 2 - 1 / pieces;
    fold = pieces *
           (others * s.node.put(piece) + waits * s.node.flag() + own * (s.on_node - 1) * s.node.combine_cell(piece));
    const double parts = std::ceil(slice / cell), part = slice / parts;
    share = parts * (own * s.node.put(part) + s.node.flag() + others * s.node.get(part));
  }
  const int under_way = s.choice.connections == 0 ? exchange.rounds : std::min(s.choice.connections, exchange.rounds);
  const double period = std::max({fold + share + exchange.busy, exchange.serial, exchange.time(s) / under_way});
  return fold + exchange.time(s) + share + (segments - 1) * period;
}

/// What a rank does with a piece: before its prefix is there, with it until it can go on, and after that. The first
/// rank has no prefix, the last one hands nothing on.
struct Link {
  double before, with, after;
  double first, last;  ///< all that the first and the last rank do
};

Link link_of(const Scene& s, double piece) {
  const double copy = s.node.copy(piece), put = s.node.put(piece);
  const double combine = s.on_node > 1 ? s.node.combine_cell(piece) : s.node.combine(piece);
  if (s.problem.operation == Operation::exscan) return {put, combine, s.node.get(piece), put, s.node.get(piece)};
  return {copy, combine + put, 0, copy + put, copy + combine};
}

double chain_time(const Scene& s) {
  const double pieces = std::ceil(s.bytes / static_cast<double>(s.choice.cell)), piece = s.bytes / pieces;
  const Link link = link_of(s, piece);
  const int hops = s.ranks - 1, wires = s.is_blocked ? s.nodes - 1 : s.nodes == 1 ? 0 : hops;
  const double flags = (hops - wires) * s.node.flag_to_one() + wires * s.network.message(piece);
  const double middle = s.ranks > 2 ? link.before + link.with + link.after : 0;
  const double around =
      pieces > s.choice.cells ? (link.first + link.last + 2 * s.node.flag_to_one()) / s.choice.cells : 0;
  const double wire = s.nodes == 1 ? 0 : s.network.at_once(s.is_blocked ? 1 : s.on_node, piece);
  return link.first + flags + (hops - 1) * link.with + link.last - (link.last > link.after ? link.before : 0) +
         (pieces - 1) * std::max({link.first, middle, link.last, around, wire});
}

/// Sums of nodes, or of ranks, that reach back 1, 2, 4, … places; stretch by stretch.
double doubling_scan_time(const Scene& s) {
  const double pieces = std::ceil(s.bytes / static_cast<double>(s.choice.cell)), piece = s.bytes / pieces;
  const bool is_by_node = s.is_blocked;
  const int places = is_by_node ? s.nodes : s.ranks, at_once = is_by_node ? 1 : s.on_node;
  const double node = is_by_node && s.on_node > 1 ? s.node.fold_prefix(piece, false) : s.node.copy(piece);
  const double out = is_by_node && s.on_node > 1 ? s.node.put(piece) + s.node.flag() + s.node.combine_cell(piece)
                                                 : s.node.combine(piece);
  double time = node + s.node.copy(piece) + out;
  for (int distance = 1; distance < places; distance *= 2)
    time += s.network.delay() + std::max(s.network.at_once(at_once, piece), s.carried_to(distance / at_once, piece)) +
            s.node.combine(piece);
  return pieces * time;
}

/// Halving, then a gather of what was combined: each moves (N - 1)/N of the vector over the root's link.
double halving_time(const Scene& s) {
  const double bytes = s.segment(), share = bytes * (s.nodes - 1) / s.nodes;
  const int rounds = cost::rounds_of(s.nodes + 1) - 1;
  const bool is_even = (1 << rounds) == s.nodes;
  const double lend = is_even ? 0 : s.network.message(bytes) + s.node.combine(bytes);
  const double phase = halved_time(s, bytes, rounds);
  return s.segments() * (s.node.reduce_to_leader(bytes) + lend + 2 * phase + s.node.combine(share));
}

/// What a node brings for the ranks of so many others, combined. Stretches of ranks that follow each other are at once.
double combine_parts(const Scene& s, double nodes) {
  return s.is_blocked ? s.node.reduce_to_leader(s.of_node(), nodes)
                      : s.node.reduce_to_leader(s.bytes, s.on_node * nodes);
}

/// Block by block, as each is folded.
double hand_out_blocks(const Scene& s) {
  return s.on_node > 1 ? (s.on_node - 1) * s.node.put(s.bytes) + s.node.flag() + s.node.get(s.bytes) : 0;
}

/// The longest message of each round of a halved reduce_scatter. O(log nodes) without counts, O(ranks) with.
std::vector<double> halved_parts(const Scene& s) {
  std::vector<double> longest;
  if (s.problem.counts.empty()) {
    for (int share = 2; share <= s.nodes; share *= 2) longest.push_back(s.of_node() * s.nodes / share);
    return longest;
  }
  const PartOrder order = derive_part_order(s.topology, s.problem);
  for (const Bytes bytes : order.longest()) longest.push_back(static_cast<double>(bytes));
  return longest;
}

/// Half of what a leader has to each round's partner, while the node combines the other half at first. Nodes beyond a
/// power of two have lent all they have before, and get their part in the end.
double halving_scatter_time(const Scene& s) {
  const std::vector<double> longest = halved_parts(s);
  const double all = s.bytes * s.ranks, runs = s.is_blocked ? s.nodes : s.ranks;
  const bool is_even = std::has_single_bit(static_cast<unsigned>(s.nodes));
  const bool is_short = all <= runs * static_cast<double>(short_stretch(s.topology));
  const double whole = s.node.reduce_to_leader(all) + runs * s.node.copy(all / runs);
  const double parts = combine_parts(s, s.nodes);
  double time = s.node.deal(s.bytes);
  if (is_short || !is_even)
    time += (is_short ? whole : parts) + s.network.message(longest.front());
  else
    time += parts / 2 + std::max(parts / 2, s.network.message(longest.front()));
  if (!is_even) time += s.network.message(all) + s.node.combine(all) + s.network.message(s.of_node());
  for (std::size_t round = 0; round < longest.size(); ++round) {
    if (round > 0) time += s.network.message(longest[round]);
    time += s.node.combine(longest[round]) + s.handing_over;
  }
  return time;
}

}  // namespace

double estimate_reduce(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_to_leader(s.bytes);
  if (s.choice.between == Between::gather_reduce) return gather_reduce_time(s);
  if (s.choice.between == Between::rabenseifner) return halving_time(s);
  return reduce_tree_time(s);
}

double estimate_allreduce(const Scene& s) {
  if (s.nodes == 1)
    return s.choice.between == Between::gather_reduce ? s.node.fold_all(s.bytes) : s.node.reduce_to_all(s.bytes);
  if (s.choice.between == Between::gather_reduce) return gather_reduce_time(s);
  if (s.choice.between == Between::multi_group) return multi_group_time(s);
  const double bytes = s.segment();
  return s.segments() * (s.node.reduce_to_leader(bytes) + leaders_time(s, bytes) + s.node.hand_out(bytes));
}

double estimate_reduce_scatter(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_blocks(s.bytes);
  if (s.choice.between == Between::rabenseifner) return halving_scatter_time(s);
  if (s.choice.between == Between::multi_group) return estimate_group_reduce_scatter(s);
  if (s.choice.between == Between::gather_reduce) return gather_reduce_time(s) + hand_out_blocks(s);
  const double combined = combine_parts(s, s.nodes) + (s.nodes - 1) * s.is.overhead;
  const double most = node_data(s).most;
  const double links = s.choice.connections == 1 ? (s.nodes - 1) * s.network.message(most)
                                                 : s.network.crossing(s.nodes - 1, most) + s.network.delay();
  const double sent = combine_parts(s, 1) + links;
  return std::max(combined, sent) + (s.nodes - 1) * s.node.combine(most) + s.node.deal(s.bytes);
}

double estimate_scan(const Scene& s) {
  const bool is_exclusive = s.problem.operation == Operation::exscan;
  if (s.choice.between == Between::gather_reduce) return s.node.fold_prefix(s.bytes, is_exclusive);
  if (s.choice.between == Between::recursive_doubling) return doubling_scan_time(s);
  return s.ranks == 1 ? s.node.copy(s.bytes) : chain_time(s);
}

}  // namespace espalier::collectives
