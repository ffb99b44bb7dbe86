// All-to-all through one leader per node (leaders.cpp).

#include "algorithms/alltoall/leaders.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms::alltoall_flat {
namespace {

void propose(Candidates& candidates, const Algorithm&, Choice choice) { vary_leaders(candidates, choice); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::alltoall,
    .between = "flat",
    .place = 2,
    .source = "Wu, Kendall, Aluru 2004, section 8.3 (gather, exchange between leaders, scatter)",
    .summary =
        "leaders exchange all their ranks' short blocks: N - 1 messages per node, two more copies of each block; by "
        "relays (exchange=bruck; Bruck et al. 1997) about (k - 1) log_k N messages, each byte up to log_k N times",
    .knobs = "exchange=direct|bruck radix cell cells leaders",
    .build = build_alltoall_leaders,
    .limits = why_no_alltoall_leaders,
    .propose = propose,
    .way = over_trunks,
    .price = price_alltoall_leaders,
};

}  // namespace espalier::algorithms::alltoall_flat
