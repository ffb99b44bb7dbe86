// Gather between the root and each rank of other nodes (tree.cpp).

#include <algorithm>

#include "algorithms/gather/tree.hpp"
#include "algorithms/prices/rooted.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::gather_pairwise {
namespace {

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.collect(s.bytes);
  // Messages of as many ranks share the root's link and arrive together.
  return s.network.delay() + std::max(s.node.collect(s.bytes), s.network.at_once(s.elsewhere(), s.bytes)) +
         (s.elsewhere() - 1) * s.is.overhead;
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::gather,
    .between = "pairwise",
    .place = 3,
    .source = "Wu, Kendall, Aluru 2004, section 8.2 (above 128K)",
    .summary =
        "every rank of other nodes sends the root its block: ranks - 1 messages, no further copy, every block crosses "
        "one link once",
    .knobs = "within cell cells stores",
    .build = build_gather,
    .propose = vary_knobs,
    .way = along_edges,
    .price = price,
};

}  // namespace espalier::algorithms::gather_pairwise
