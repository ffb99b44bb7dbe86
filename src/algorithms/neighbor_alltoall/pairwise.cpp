// A block to each neighbour, along the edges of the communicator's process topology (MPI 4.1, section 8.6), each edge
// by itself.

#include "algorithms/parts/edge_messages.hpp"
#include "algorithms/row.hpp"

namespace espalier::algorithms {

extern const Algorithm neighbor_alltoall_pairwise = {
    .operation = Operation::neighbor_alltoall,
    .between = "pairwise",
    .place = 1,
    .source = "the on-node half: Wu, Kendall, Aluru 2005, section 5 (Group_seg_put, Pair_sync, Group_seg_get)",
    .summary =
        "every rank sends a block of its own to each of its neighbours on other nodes itself, all at once; those on "
        "its node take "
        "theirs out of its cells meanwhile",
    .knobs = "within cell cells stores",
    .build = build_edge_messages,
    .limits = why_no_edges,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price_edge_messages,
};

}  // namespace espalier::algorithms
