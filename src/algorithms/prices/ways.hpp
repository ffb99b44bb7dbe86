#pragma once
// What a message meets on its way between nodes where the network is known, by how leaders exchange.

#include "plan/choice.hpp"
#include "topology/distances.hpp"

namespace espalier::algorithms {

/// Along a tree that is laid onto the network, or from one rank to all, or from all to one: a whole message meets what
/// is typical, but a pipeline of segments runs at the pace of its slowest way.
topology::Way along_edges(const topology::Distances& distances, const plan::Choice& choice);

/// Round a ring that is laid onto the network: at the pace of its slowest way.
topology::Way along_ring(const topology::Distances& distances, const plan::Choice& choice);

/// In rounds whose distances the closed form knows, and with them what each meets on the trunks (crowding.hpp): all
/// wait for the farthest.
topology::Way in_rounds(const topology::Distances& distances, const plan::Choice& choice);

/// All to all at once: the farthest, and every message crosses the trunks.
topology::Way over_trunks(const topology::Distances& distances, const plan::Choice& choice);

}  // namespace espalier::algorithms
