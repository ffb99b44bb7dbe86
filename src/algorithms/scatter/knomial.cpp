// Scatter along a k-nomial tree of nodes (tree.cpp).

#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"
#include "algorithms/scatter/tree.hpp"

namespace espalier::algorithms::scatter_knomial {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.deal(s.bytes);
  const double pieces = messages_of_node(s);
  const double of_tree = (s.choice.radix - 1) * cost::rounds_of(s.nodes, s.choice.radix);
  return price_scatter(s, pieces > 1 ? (s.nodes - 1) * pieces : of_tree, wire_of_tree(s));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::scatter,
    .between = "knomial",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2004, section 4 (binomial: radix 2)",
    .summary =
        "k-nomial tree of N nodes, ceil(log_k N) rounds; a message holds the blocks of a whole subtree, node by node; "
        "the root sends each block once; in segments, a node deals while more comes",
    .knobs = "radix segment within cell cells stores leaders order",
    .build = build_scatter,
    .propose = vary_knobs,
    .shape = trees::Shape::knomial,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::scatter_knomial
