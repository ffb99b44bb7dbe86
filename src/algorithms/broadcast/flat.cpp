// Broadcast from the root to each other node itself (picture in tree.cpp).

#include "algorithms/broadcast/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::broadcast_flat {
namespace {

double price(const Scene& s) {
  return price_broadcast(s, s.network.delay() + s.network.several(s.nodes - 1, s.segment()), s.nodes - 1);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "flat",
    .place = 4,
    .source = "Wu, Kendall, Aluru 2004, section 4 (flat tree)",
    .summary =
        "the root sends every segment to each of N - 1 leaders itself: one hop, and the message N - 1 times over its "
        "link",
    .knobs = "segment within cell cells leaders",
    .build = build_broadcast,
    .propose = vary_knobs,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_flat
