#include "machine/node.hpp"

#include <algorithm>
#include <tuple>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

// What we take where firmware says nothing: within a package, and beyond it.
constexpr int package_distance = 12;
constexpr int remote_distance = 20;

template <class Groups, class Cpus>
int index_of(const Groups& groups, const CpuSet& cpus, Cpus cpus_of) {
  if (cpus.is_empty()) return -1;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (cpus.is_within(cpus_of(groups[i]))) return static_cast<int>(i);
  return -1;
}

int package_of(const Node& node, const CpuSet& cpus) {
  return index_of(node.packages, cpus, [](const CpuSet& package) -> const CpuSet& { return package; });
}

bool are_sensible(const std::vector<std::vector<int>>& distances, std::size_t count) {
  if (distances.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (distances[i].size() != count) return false;
    for (std::size_t j = 0; j < count; ++j)
      if (distances[i][j] <= 0 || distances[i][j] >= unknown_distance || distances[i][j] < distances[i][i])
        return false;
  }
  return true;
}

std::vector<std::vector<int>> assume_distances(const Node& node) {
  const std::size_t count = node.numa_nodes.size();
  std::vector<std::vector<int>> distances(count, std::vector<int>(count, remote_distance));
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < count; ++j) {
      const int package = package_of(node, node.numa_nodes[i].cpus);
      if (i == j)
        distances[i][j] = local_distance;
      else if (package >= 0 && package == package_of(node, node.numa_nodes[j].cpus))
        distances[i][j] = package_distance;
    }
  return distances;
}

}  // namespace

int numa_of(const Node& node, const CpuSet& cpus) {
  return index_of(node.numa_nodes, cpus, [](const NumaNode& numa) -> const CpuSet& { return numa.cpus; });
}

int l3_of(const Node& node, const CpuSet& cpus) {
  return index_of(node.l3_groups, cpus, [](const CpuSet& group) -> const CpuSet& { return group; });
}

int distance_to(const Node& node, int numa, const Nic& nic) {
  int least = unknown_distance;
  for (std::size_t n = 0; n < node.numa_nodes.size(); ++n)
    if (node.numa_nodes[n].cpus.intersects(nic.near))
      least = std::min(least, node.distances[static_cast<std::size_t>(numa)][n]);
  return least;
}

Node derive_node(Node found) {
  if (found.cpus.is_empty()) throw Error("no processors are known of " + found.source);
  if (found.numa_nodes.empty()) found.numa_nodes.push_back({0, found.cpus});
  if (!are_sensible(found.distances, found.numa_nodes.size())) found.distances = assume_distances(found);
  for (Nic& nic : found.nics) {
    if (found.numa_nodes.size() == 1)
      nic.near = found.cpus;
    else if (found.cpus.is_within(nic.near))
      nic.near = CpuSet();
  }
  std::sort(found.nics.begin(), found.nics.end(), [](const Nic& a, const Nic& b) {
    return std::tuple(a.bus.empty(), a.bus, a.names) < std::tuple(b.bus.empty(), b.bus, b.names);
  });
  return found;
}

}  // namespace espalier::machine
