// A block to each neighbour, with one message for each pair of nodes (parts/edge_parcels.hpp).

#include "algorithms/parts/edge_parcels.hpp"

namespace espalier::algorithms::neighbor_alltoall_by_node {

extern const Algorithm row = edges_by_node(Operation::neighbor_alltoall);

}  // namespace espalier::algorithms::neighbor_alltoall_by_node
