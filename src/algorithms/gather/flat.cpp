// Gather between the root and the leader of each node (tree.cpp).

#include "algorithms/gather/tree.hpp"
#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::gather_flat {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.collect(s.bytes);
  return price_gather(s, false, wire_of_leaders(s));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::gather,
    .between = "flat",
    .place = 2,
    .source = "Wu, Kendall, Aluru 2004, sections 4 and 8.2 (flat tree)",
    .summary = "each of N - 1 leaders sends the root its node's blocks; every block crosses one link once",
    .knobs = "segment within cell cells stores leaders",
    .build = build_gather,
    .propose = vary_knobs,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::gather_flat
