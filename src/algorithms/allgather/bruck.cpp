// Allgather by Bruck's exchange among leaders (leaders.cpp).

#include "algorithms/allgather/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::allgather_bruck {
namespace {

double price(const Scene& s) { return price_doubling(s, false); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allgather,
    .between = "bruck",
    .place = 3,
    .source = "Bruck et al. 1997",
    .summary = "leaders send all they have 2^k nodes to the left, ceil(log2 N) rounds for any N",
    .knobs = "within cell cells stores leaders",
    .build = build_allgather,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price,
};

}  // namespace espalier::algorithms::allgather_bruck
