// Broadcast along a chain of nodes (picture in tree.cpp).

#include "algorithms/broadcast/tree.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::broadcast_chain {
namespace {

double price(const Scene& s) { return price_broadcast(s, (s.nodes - 1) * s.network.message(s.segment()), 1); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "chain",
    .place = 2,
    .source = "Barnett et al. 1994 (pipelined chain)",
    .summary =
        "each of N nodes hands segments to the next, N - 1 + segments rounds; every leader but the last sends the "
        "message once",
    .knobs = "segment within cell cells stores levels leaders order",
    .build = build_broadcast,
    .propose = vary_knobs,
    .shape = trees::Shape::chain,
    .way = along_edges,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_chain
