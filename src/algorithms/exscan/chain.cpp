// Exscan along a chain of ranks (scan/links.cpp).

#include "algorithms/row.hpp"
#include "algorithms/scan/prefixes.hpp"

namespace espalier::algorithms::exscan_chain {

extern const Algorithm row = {
    .operation = Operation::exscan,
    .between = "chain",
    .place = 1,
    .source = "Hillis, Steele 1986 (serial form), pipelined",
    .summary = "as scan_chain; each rank keeps the prefix that it was handed",
    .knobs = "cell cells",
    .build = build_chain_of_ranks,
    .limits = limits_of_chain_of_ranks,
    .propose = vary_knobs,
    .shape = trees::Shape::chain,
    .way = along_edges,
    .price = price_chain_of_ranks,
};

}  // namespace espalier::algorithms::exscan_chain
