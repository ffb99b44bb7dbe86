#include "collectives/crowding.hpp"

#include <algorithm>

namespace espalier::collectives {
namespace {

constexpr int supposed_neighbours = 8, supposed_group = 64;
constexpr double supposed_oversubscription = 2, supposed_among_groups = 4;
constexpr double supposed_latency = 2.04;  // Subramoni et al., Table II: 1.57 µs below one switch

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
  if (!is_supposed(topology)) return known_crowding(topology);
  return {supposed_neighbours, supposed_oversubscription / parameters.link_rate, supposed_latency, supposed_group,
          supposed_among_groups / parameters.link_rate};
}

}  // namespace espalier::collectives
