// Scatter between the root and the leader of each node (tree.cpp).

#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"
#include "algorithms/scatter/tree.hpp"

namespace espalier::algorithms::scatter_flat {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.deal(s.bytes);
  return price_scatter(s, (s.nodes - 1) * messages_of_node(s), wire_of_leaders(s));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::scatter,
    .between = "flat",
    .place = 2,
    .source = "Wu, Kendall, Aluru 2004, sections 4 and 8.2 (flat tree)",
    .summary = "the root sends each of N - 1 leaders its node's blocks; every block crosses one link once",
    .knobs = "segment within cell cells stores leaders",
    .build = build_scatter,
    .propose = vary_knobs,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::scatter_flat
