// One block to all neighbours, each edge by itself (parts/edge_messages.hpp).

#include "algorithms/parts/edge_messages.hpp"

namespace espalier::algorithms::neighbor_allgather_pairwise {

extern const Algorithm row = edges_pairwise(Operation::neighbor_allgather);

}  // namespace espalier::algorithms::neighbor_allgather_pairwise
