#include "algorithms/prices/rooted.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::algorithms {
namespace {

/// What a node does with its own blocks while no message of theirs is under way: with one segment of several.
double exposed(const Scene& s, double node_time) { return node_time / messages_of_node(s); }

/// What a speaker received, dealt to its node: straight out of its cells when it fits them.
double deal_below(const Scene& s) {
  if (s.on_node == 1) return 0;
  const bool fits = s.of_node() <= static_cast<double>(s.choice.cell) * s.choice.cells;
  // Out of a speaker's cells all take their blocks at once, whoever of them is first.
  return s.choice.within == plan::Within::cells && fits ? s.node.deal_in_place(s.bytes)
                                                        : exposed(s, s.node.deal(s.bytes));
}

}  // namespace

double messages_of_node(const Scene& s) {
  return s.choice.segment > 0 ? std::max(1.0, std::ceil(s.of_node() / static_cast<double>(s.choice.segment))) : 1;
}

double wire_of_tree(const Scene& s) {
  const double count = messages_of_node(s);
  const int rounds = cost::rounds_of(s.nodes, s.choice.radix);
  const double least = count > 1 ? s.network.several((s.nodes - 1) * count, 0) : rounds * s.is.gap;
  return rounds * s.network.delay() + std::max(least, (s.nodes - 1) * s.of_node() / s.is.connection_rate());
}

double wire_of_leaders(const Scene& s) {
  const double count = messages_of_node(s);
  return s.network.delay() +
         std::max(s.network.several((s.nodes - 1) * count, s.of_node() / count), s.network.carried(s.of_node()));
}

double wire_of_ranks(const Scene& s) { return s.network.delay() + s.network.several(s.elsewhere(), s.bytes); }

double price_scatter(const Scene& s, double messages_of_root, double wire) {
  const double root = messages_of_root * s.is.overhead + s.node.deal(s.bytes);
  return reorder_time(s, s.elsewhere()) + std::max(root, wire + deal_below(s));
}

double price_gather(const Scene& s, bool is_relayed, double wire) {
  const double below = s.on_node > 1 || is_relayed ? s.node.collect(s.bytes) : 0;
  const double last = s.network.message(s.of_node() / messages_of_node(s));
  return std::max(below + last, exposed(s, below) + wire) + reorder_time(s, s.elsewhere());
}

}  // namespace espalier::algorithms
