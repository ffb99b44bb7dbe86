// Gather along a k-nomial tree of nodes (tree.cpp).

#include "algorithms/gather/tree.hpp"
#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::gather_knomial {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.collect(s.bytes);
  return price_gather(s, s.nodes > 2, wire_of_tree(s));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::gather,
    .between = "knomial",
    .place = 1,
    .source = "Wu, Kendall, Aluru 2004, section 4 (binomial: radix 2)",
    .summary =
        "k-nomial tree of N nodes, ceil(log_k N) rounds; a leader sends the blocks of its whole subtree at once, or in "
        "segments while its node still gathers",
    .knobs = "radix segment within cell cells stores leaders order",
    .build = build_gather,
    .propose = vary_knobs,
    .shape = trees::Shape::knomial,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::gather_knomial
