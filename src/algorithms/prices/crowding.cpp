#include "algorithms/prices/crowding.hpp"

#include <algorithm>

namespace espalier::algorithms {
namespace {

constexpr int supposed_neighbours = 8, supposed_group = 64;
constexpr double supposed_oversubscription = 2, supposed_among_groups = 4;
constexpr double supposed_latency = 2.04;  // Subramoni et al., Table II: 1.57 µs below one switch

/// How many nodes follow the first one within its group of switches: farther than its switch, nearer than the farthest.
/// All, where ways tell of no such groups.
int nodes_of_group(const topology::Topology& topology) {
  const topology::Distances& distances = topology.distances();
  const std::vector<int>& leaf_of = distances.trunks().leaf_of;
  const int nodes = static_cast<int>(leaf_of.size());
  const auto latency = [&](int node) { return distances.way(NodeId(0), NodeId(node)).latency; };
  int on_leaf = 0;
  while (on_leaf < nodes && leaf_of[static_cast<std::size_t>(on_leaf)] == leaf_of[0]) ++on_leaf;
  int in_group = on_leaf;
  while (in_group < nodes && latency(in_group) < distances.worst().latency) ++in_group;
  return in_group == on_leaf ? topology.nodes() : in_group;
}

}  // namespace

Crowding known_crowding(const topology::Topology& topology) {
  const std::vector<int>& leaf_of = topology.distances().trunks().leaf_of;
  if (leaf_of.empty()) return {};
  const auto other = std::find_if(leaf_of.begin(), leaf_of.end(), [&](int leaf) { return leaf != leaf_of.front(); });
  return {static_cast<int>(other - leaf_of.begin()), topology.distances().crowded_per_byte()};
}

bool is_supposed(const topology::Topology& topology) {
  const bool is_known = topology.distances().worst().latency > 0;  // adapters' rates alone say nothing of cables
  return !is_known && topology.nodes() > supposed_neighbours;
}

Crowding expected_crowding(const topology::Topology& topology, const cost::Parameters& parameters) {
  if (!is_supposed(topology)) {
    Crowding known = known_crowding(topology);
    known.in_group = nodes_of_group(topology);
    if (known.in_group < topology.nodes()) known.far_per_byte = supposed_among_groups / parameters.link_rate;
    return known;
  }
  return {supposed_neighbours, supposed_oversubscription / parameters.link_rate, supposed_latency, supposed_group,
          supposed_among_groups / parameters.link_rate};
}

}  // namespace espalier::algorithms
