// Neighbourhood collectives with one message for each pair of nodes (parts/edge_parcels.hpp).

#include "algorithms/parts/edge_parcels.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms {

extern const Algorithm neighbor_alltoall_by_node = {
    .operation = Operation::neighbor_alltoall,
    .between = "by_node",
    .place = 2,
    .source = "Qian, Rashti, Afsahi, section 4 (groups of leaders), on a sparse pattern",
    .summary =
        "one message for each pair of nodes that has edges, by leaders who collect it out of their node's windows and "
        "receive into their own; every block once for each node that wants it",
    .knobs = "groups within cell cells stores leaders",
    .build = build_edge_parcels,
    .limits = why_no_edge_parcels,
    .propose = propose_edge_parcels,
    .way = over_trunks,
    .price = price_edge_parcels,
};

}  // namespace espalier::algorithms
