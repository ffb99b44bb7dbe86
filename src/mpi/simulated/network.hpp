#pragma once
// The network that a simulated job runs on, and the hosts it has got there. `espalier simulate --execute` says which in
// the environment, as nothing else reaches SimGrid's loader.

#include <memory>
#include <string>
#include <vector>

#include "mpi/setup/network_map.hpp"
#include "simulate/network.hpp"

namespace espalier::mpi {

/// Of SIMULATED_NETWORK, SIMULATED_HOSTS (how many) and SIMULATED_PLACEMENT (simulate/placement.hpp).
struct SimulatedJob {
  std::unique_ptr<simulate::Network> network;
  std::vector<int> host_of_node;
};

/// Throws Error where a variable is not set, or the job does not fit the network.
SimulatedJob read_job();

/// What SimGrid, and a rank that asks where it runs, call a node of the job.
std::string name_of_node(std::size_t node);

/// What a topology service would say about these nodes, as far as SIMULATED_METRIC lets it. Throws Error for unknown
/// names.
topology::Distances measure_network(const Hosts& names);

}  // namespace espalier::mpi
