// One block to all neighbours, with one message for each pair of nodes (parts/edge_parcels.hpp).

#include "algorithms/parts/edge_parcels.hpp"

namespace espalier::algorithms::neighbor_allgather_by_node {

extern const Algorithm row = edges_by_node(Operation::neighbor_allgather);

}  // namespace espalier::algorithms::neighbor_allgather_by_node
