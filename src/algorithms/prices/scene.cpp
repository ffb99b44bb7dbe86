#include "algorithms/prices/scene.hpp"

#include <algorithm>
#include <limits>

namespace espalier::algorithms {

NodeData node_data(const Scene& s) {
  if (s.problem.counts.empty()) return {s.of_node(), s.of_node(), s.nodes * s.of_node()};
  NodeData data{0, std::numeric_limits<double>::infinity(), 0};
  for (int node = 0; node < s.nodes; ++node) {
    double bytes = 0;
    for (const Rank rank : s.topology.ranks_on(NodeId(node)))
      bytes += static_cast<double>(s.problem.counts[static_cast<std::size_t>(rank.value)]);
    data = {std::max(data.most, bytes), std::min(data.least, bytes), data.all + bytes};
  }
  return data;
}

}  // namespace espalier::algorithms
