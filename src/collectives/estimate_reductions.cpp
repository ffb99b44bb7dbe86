// Closed forms of the reductions.

#include <algorithm>

#include "collectives/scene.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Operation;

namespace {

double reduce_tree_time(const Scene& s) {
  const double bytes = s.segment(), node = s.node.reduce_to_leader(bytes);
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const int in_round = std::min(s.nodes, s.choice.radix) - 1;
  const double children = std::min(s.nodes - 1, rounds * in_round);
  const double last = s.network.message(bytes) + s.node.combine(bytes);
  const double way = node + rounds * (last + (in_round - 1) * std::max(s.network.serial(bytes), s.node.combine(bytes)));
  const double processor = node + children * s.node.combine(bytes) + s.is.overhead;
  const double forward = s.problem.is_commutative ? 0 : s.network.message(bytes);
  return way + forward + (s.segments() - 1) * std::max({processor, children * s.network.serial(bytes), forward});
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

/// Leaders' vectors of `bytes`, combined everywhere.
double leaders_time(const Scene& s, double bytes) {
  const double share = static_cast<double>(s.nodes - 1) / s.nodes * bytes;
  const auto round = [&](double size) { return s.network.message(size) + s.node.combine(size); };
  if (s.choice.between == Between::ring)
    return (s.nodes - 1) * (round(bytes / s.nodes) + s.network.message(bytes / s.nodes));
  const int rounds = cost::rounds_of(s.nodes + 1) - 1;  // of the last power of two
  const double lend = (1 << rounds) < s.nodes ? round(bytes) + s.network.message(bytes) : 0;
  if (s.choice.between == Between::recursive_doubling) return lend + rounds * round(bytes);
  return lend + 2 * rounds * s.network.delay() + 2 * std::max(rounds * s.is.gap, share / s.is.link_rate) +
         s.node.combine(share);
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
  const double wire = s.nodes == 1 ? 0 : s.network.serial(piece) * (s.is_blocked ? 1 : s.on_node);
  return link.first + flags + (hops - 1) * link.with + link.last - (link.last > link.after ? link.before : 0) +
         (pieces - 1) * std::max({link.first, middle, link.last, around, wire});
}

/// Halving, then a gather of what was combined: each moves (N - 1)/N of the vector over the root's link.
double halving_time(const Scene& s) {
  const double bytes = s.segment(), share = bytes * (s.nodes - 1) / s.nodes;
  const int rounds = cost::rounds_of(s.nodes + 1) - 1;
  const bool is_even = (1 << rounds) == s.nodes;
  const double lend = is_even ? 0 : s.network.message(bytes) + s.node.combine(bytes);
  const double phase = rounds * s.network.delay() + std::max(rounds * s.is.gap, share / s.is.link_rate);
  return s.segments() * (s.node.reduce_to_leader(bytes) + lend + 2 * phase + s.node.combine(share));
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
  const double bytes = s.segment();
  return s.segments() * (s.node.reduce_to_leader(bytes) + leaders_time(s, bytes) + s.node.hand_out(bytes));
}

double estimate_reduce_scatter(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_blocks(s.bytes);
  const double hand_out =
      s.on_node > 1 ? (s.on_node - 1) * s.node.put(s.bytes) + s.node.flag() + s.node.get(s.bytes) : 0;
  const double own = s.node.copy(s.bytes) + hand_out;
  if (s.choice.between == Between::gather_reduce) return gather_reduce_time(s) + hand_out;
  // Stretches of ranks that follow each other are combined at once.
  const double part =
      s.is_blocked ? s.node.reduce_to_leader(s.of_node()) : s.on_node * s.node.reduce_to_leader(s.bytes);
  const double combined = s.nodes * part + (s.nodes - 1) * s.is.overhead;
  const double sent = part + (s.nodes - 1) * s.network.serial(s.of_node()) + s.network.delay();
  return std::max(combined, sent) + (s.nodes - 1) * s.node.combine(s.of_node()) + own;
}

double estimate_scan(const Scene& s) {
  const bool is_exclusive = s.problem.operation == Operation::exscan;
  if (s.choice.between == Between::gather_reduce) return s.node.fold_prefix(s.bytes, is_exclusive);
  return s.ranks == 1 ? s.node.copy(s.bytes) : chain_time(s);
}

}  // namespace espalier::collectives
