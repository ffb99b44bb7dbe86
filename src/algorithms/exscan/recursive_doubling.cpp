// Exscan by sums that reach back 1, 2, 4, … nodes (scan/doubling.cpp).

#include "algorithms/row.hpp"
#include "algorithms/scan/prefixes.hpp"

namespace espalier::algorithms::exscan_recursive_doubling {

extern const Algorithm row = {
    .operation = Operation::exscan,
    .between = "recursive_doubling",
    .place = 2,
    .source = "Hillis, Steele 1986",
    .summary = "as scan_recursive_doubling, without the own vector",
    .knobs = "cell cells",
    .build = build_doubling_scan,
    .limits = limits_of_doubling_scan,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price_doubling_scan,
};

}  // namespace espalier::algorithms::exscan_recursive_doubling
