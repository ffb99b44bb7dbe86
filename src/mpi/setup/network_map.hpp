#pragma once
// What a job knows of the network between its hosts: asked for once, kept for all communicators. No MPI here.

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "topology/distances.hpp"

namespace espalier::mpi {

/// Hosts by the names that the network's service knows: one for each node, in order of nodes.
using Hosts = std::vector<std::string>;

/// Thread safe.
class NetworkMap {
 public:
  /// Distances between these hosts: what is known already, else asked for (topology/network.hpp). Throws Error when
  /// nobody can tell. After that nobody is asked again and nothing is known, so that a silent service costs a job its
  /// time limit, and a line, once.
  topology::Distances find(const Hosts& hosts, const std::string& address, std::chrono::milliseconds limit);

  /// What another rank has found out.
  void keep(const Hosts& hosts, const topology::Distances& distances);
  /// Another rank was told nothing.
  void give_up();

 private:
  std::optional<topology::Distances> find_known(const Hosts& hosts) const;

  mutable std::mutex mutex_;
  std::map<std::string, int> index_;  ///< of a host in distances_
  topology::Distances distances_;
  bool has_given_up_ = false;
};

/// This process's host: what the system calls it up to the first dot, or, in a job on one machine that plays several,
/// the entry of `pretended` (a host list such as "node[000-003]", see fabric/dumps/host_list.hpp) with its virtual
/// node's number. Throws Error when that list is wrong or too short.
std::string probe_host_name(const std::string& pretended, int virtual_node);

}  // namespace espalier::mpi
