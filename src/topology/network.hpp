#pragma once
// Where distances between nodes come from: a service that knows the fabric, or the fabric's dumps themselves.

#include <chrono>
#include <string>
#include <vector>

#include "fabric/cables.hpp"
#include "fabric/classes.hpp"
#include "topology/distances.hpp"

namespace espalier::topology {

/// Of each pair its latency and its slowest link's rate, and what the cables of each host's first switch carry
/// together. Where there is no route the network's map is wrong, since MPI runs there: such a pair is as far apart as
/// the farthest one.
Distances derive_distances(const fabric::ClassDelays& delays);
/// The same with the latencies of Subramoni et al. (fabric::LatencyTable::ranger).
Distances derive_distances(const fabric::Delays& delays);

/// The same for hosts of a fabric, with the cables that their routes take, where tables tell routes and some cable's
/// rate is known: a guess at either would mislead whoever plays messages on them.
Distances derive_distances(const fabric::Fabric& fabric, const std::vector<fabric::Endpoint>& hosts);

/// Those cables as nodes share them.
Cables derive_cables(const fabric::RouteCables& routes);

/// Asks who is named by `address` about these hosts, in this order: a service ("host:port" or a socket's path, see
/// docs/reference/protocol.md) that must answer within `limit`, or a directory of dumps, which is read here. Throws
/// Error with the reason when there is no answer for all of them.
Distances ask_distances(const std::string& address, const std::vector<std::string>& hosts,
                        std::chrono::milliseconds limit);

}  // namespace espalier::topology
