// Scan in which every rank folds all lower ranks' vectors for itself (smp/reduce/apart.hpp).

#include "algorithms/row.hpp"
#include "algorithms/scan/prefixes.hpp"

namespace espalier::algorithms::scan_gather_reduce {
namespace {

double price(const Scene& s) { return s.node.fold_prefix(s.bytes, false); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::scan,
    .between = "gather_reduce",
    .place = 3,
    .source = "Wu, Kendall, Aluru 2004, section 5",
    .summary = "one node: every rank folds the vectors of all lower ranks, one synchronisation per piece",
    .knobs = "within cell cells stores",
    .build = build_folded_scan,
    .limits = limits_of_folded_scan,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
    .sends_all_vectors = true,
    .differs_on_one_node = true,
};

}  // namespace espalier::algorithms::scan_gather_reduce
