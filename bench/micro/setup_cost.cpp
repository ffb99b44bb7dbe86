// What it costs a job to learn its network and to lay trees onto it: Table III of Subramoni et al., without the
// broadcast, which ESPALIER_VERBOSE=2 tells of a real job, and `espalier simulate bcast --bytes` of one that is too
// large for this machine. bench/fabric/measure.py starts a service and asks it.
//
//   bench_setup ADDRESS HOSTS [COUNT...]     ADDRESS: host:port or socket of espalier serve, or a directory of dumps
//                                            HOSTS: node[0000-1023]; COUNT: how many of them, at even distances
//
// Prints for each COUNT: classes of nodes, how many KB rank 0 broadcasts, ms to ask (connect, switches and delays of
// all pairs, sorted into classes), ms for a broadcast tree's order the first time, again (same root), and of another
// root (the median of 9).

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "algorithms/parts/node_order.hpp"
#include "base/error.hpp"
#include "fabric/dumps/host_list.hpp"
#include "timing.hpp"
#include "topology/network.hpp"

namespace {

using namespace espalier;

template <class Work>
double milliseconds(Work work) {
  return microseconds(work) / 1000;
}

std::vector<std::string> pick(const std::vector<std::string>& hosts, std::size_t count) {
  std::vector<std::string> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(hosts[i * hosts.size() / count]);
  return some;
}

double kilobytes(const topology::Distances& known) {
  const topology::Trunks& trunks = known.trunks();
  const std::size_t words = known.class_of().size() + trunks.leaf_of.size() + trunks.per_byte.size();
  return static_cast<double>(words * sizeof(int) + known.ways().size() * sizeof(topology::Way)) / 1024;
}

void measure(const std::string& address, const std::vector<std::string>& hosts) {
  topology::Distances distances;
  const double ask =
      milliseconds([&] { distances = topology::ask_distances(address, hosts, std::chrono::seconds(30)); });
  std::vector<int> nodes;
  for (std::size_t n = 0; n < hosts.size(); ++n) nodes.push_back(static_cast<int>(n));
  const auto topology = topology::Topology::from_nodes(nodes).with_distances(distances);
  const auto order = [&](int root) {
    return milliseconds([&] {
      algorithms::NodeOrder(topology, {plan::Operation::broadcast, 64 << 10, Rank(root)}, plan::Choice{});
    });
  };
  const double first = order(0), again = order(0);
  std::vector<double> others;
  for (int i = 1; i <= 9; ++i) others.push_back(order(i * topology.nodes() / 10));
  std::printf("%8zu %8d %10.1f %10.2f %10.3f %10.4f %10.3f\n", hosts.size(), distances.classes(), kilobytes(distances),
              ask, first, again, median(others));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_setup ADDRESS HOSTS [COUNT...]\n");
    return 2;
  }
  try {
    const auto hosts = fabric::expand_host_list(argv[2], 1 << 16);
    std::printf("%8s %8s %10s %10s %10s %10s %10s   (ms)\n", "leaders", "classes", "KB", "ask", "order", "same root",
                "other root");
    for (int i = 3; i < argc; ++i)
      measure(argv[1], pick(hosts, std::min<std::size_t>(std::strtoul(argv[i], nullptr, 10), hosts.size())));
    if (argc == 3) measure(argv[1], hosts);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_setup: %s\n", error.what());
    return 1;
  }
}
