// What prefixes take along a chain of ranks, and by doubling.

#include <algorithm>
#include <cmath>

#include "algorithms/scan/prefixes.hpp"
#include "algorithms/words.hpp"

namespace espalier::algorithms {
namespace {

/// What a rank does with a piece: before its prefix is there, with it until it can go on, and after that. The first
/// rank has no prefix, the last one hands nothing on.
struct LinkWork {
  double before, with, after;
  double first, last;  ///< all that the first and the last rank do
};

LinkWork link_of(const Scene& s, double piece) {
  const double copy = s.node.copy(piece), put = s.node.put(piece);
  const double combine = s.on_node > 1 ? s.node.combine_cell(piece) : s.node.combine(piece);
  if (s.problem.operation == Operation::exscan) return {put, combine, s.node.get(piece), put, s.node.get(piece)};
  return {copy, combine + put, 0, copy + put, copy + combine};
}

}  // namespace

double price_chain_of_ranks(const Scene& s) {
  if (s.ranks == 1) return s.node.copy(s.bytes);
  const double pieces = std::ceil(s.bytes / static_cast<double>(s.choice.cell)), piece = s.bytes / pieces;
  const LinkWork link = link_of(s, piece);
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
double price_doubling_scan(const Scene& s) {
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

}  // namespace espalier::algorithms
