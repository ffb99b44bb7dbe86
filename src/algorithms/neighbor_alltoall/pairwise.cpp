// A block to each neighbour, each edge by itself (parts/edge_messages.hpp).

#include "algorithms/parts/edge_messages.hpp"

namespace espalier::algorithms {

extern const Algorithm neighbor_alltoall_pairwise = edges_pairwise(Operation::neighbor_alltoall);

}  // namespace espalier::algorithms
