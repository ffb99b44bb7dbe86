// A block to each neighbour, each edge by itself (parts/edge_messages.hpp).

#include "algorithms/parts/edge_messages.hpp"

namespace espalier::algorithms::neighbor_alltoall_pairwise {

extern const Algorithm row = edges_pairwise(Operation::neighbor_alltoall);

}  // namespace espalier::algorithms::neighbor_alltoall_pairwise
