// Scatter between the root and each rank of other nodes (tree.cpp).

#include <algorithm>

#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"
#include "algorithms/scatter/tree.hpp"

namespace espalier::algorithms::scatter_pairwise {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.deal(s.bytes);
  return std::max(s.elsewhere() * s.is.overhead + s.node.deal(s.bytes), wire_of_ranks(s));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::scatter,
    .between = "pairwise",
    .place = 3,
    .source = "Wu, Kendall, Aluru 2004, section 8.2 (above 128K)",
    .summary =
        "the root sends every rank of other nodes its block: ranks - 1 messages, no further copy, every block crosses "
        "one link once",
    .knobs = "within cell cells stores",
    .build = build_scatter,
    .propose = vary_knobs,
    .way = along_edges,
    .price = price,
};

}  // namespace espalier::algorithms::scatter_pairwise
