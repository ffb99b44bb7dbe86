#include "mpi/simulated/network.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"
#include "simulate/placement.hpp"

namespace espalier::mpi {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw Error(std::string(name) + " is not set: use `espalier simulate --execute`");
  return value;
}

}  // namespace

SimulatedJob read_job() {
  SimulatedJob job{simulate::parse_network(setting("SIMULATED_NETWORK")), {}};
  const int hosts = std::atoi(setting("SIMULATED_HOSTS").c_str());
  job.host_of_node = simulate::place_nodes(*job.network, setting("SIMULATED_PLACEMENT"), std::max(hosts, 1));
  return job;
}

std::string name_of_node(std::size_t node) { return "host" + std::to_string(node); }

topology::Distances measure_network(const Hosts& names) {
  const SimulatedJob job = read_job();
  std::vector<int> hosts;
  for (const std::string& name : names) {
    std::size_t node = 0;
    while (node < job.host_of_node.size() && name_of_node(node) != name) ++node;
    if (node == job.host_of_node.size()) throw Error("the simulated job has no node '" + name + "'");
    hosts.push_back(job.host_of_node[node]);
  }
  return simulate::derive_distances(*job.network, hosts, setting("SIMULATED_METRIC"));
}

}  // namespace espalier::mpi
