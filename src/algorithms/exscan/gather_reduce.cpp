// Exscan in which every rank folds all lower ranks' vectors for itself (smp/reduce/apart.hpp).

#include "algorithms/row.hpp"
#include "algorithms/scan/prefixes.hpp"

namespace espalier::algorithms::exscan_gather_reduce {
namespace {

double price(const Scene& s) { return s.node.fold_prefix(s.bytes, true); }

}  // namespace

extern const Algorithm row = {
    .operation = Operation::exscan,
    .between = "gather_reduce",
    .place = 3,
    .source = "Wu, Kendall, Aluru 2004, section 5",
    .summary = "as scan_gather_reduce, without the own vector",
    .knobs = "within cell cells stores",
    .build = build_folded_scan,
    .limits = limits_of_folded_scan,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
    .sends_all_vectors = true,
    .differs_on_one_node = true,
};

}  // namespace espalier::algorithms::exscan_gather_reduce
