// Scan by sums that reach back 1, 2, 4, … nodes (scan/doubling.cpp).

#include "algorithms/row.hpp"
#include "algorithms/scan/prefixes.hpp"

namespace espalier::algorithms::scan_recursive_doubling {

extern const Algorithm row = {
    .operation = Operation::scan,
    .between = "recursive_doubling",
    .place = 2,
    .source = "Hillis, Steele 1986; Thakur, Rabenseifner, Gropp 2005, section 4",
    .summary =
        "the last rank of each node sends what it has summed up 1, 2, 4, … nodes on, ceil(log2 N) rounds, and hands "
        "out what came; ranks do so for themselves where nodes do not hold consecutive ones",
    .knobs = "cell cells",
    .build = build_doubling_scan,
    .limits = limits_of_doubling_scan,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price_doubling_scan,
};

}  // namespace espalier::algorithms::scan_recursive_doubling
