// One block to all neighbours, each edge by itself (parts/edge_messages.hpp).

#include "algorithms/parts/edge_messages.hpp"

namespace espalier::algorithms {

extern const Algorithm neighbor_allgather_pairwise = edges_pairwise(Operation::neighbor_allgather);

}  // namespace espalier::algorithms
