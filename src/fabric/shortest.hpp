#pragma once
// Distances over the wiring towards one switch: for fabrics without forwarding tables.

#include <vector>

#include "fabric/graph.hpp"

namespace espalier::fabric {

class DistanceField {
 public:
  DistanceField(const Fabric& fabric, NodeIndex target);

  /// Switch-to-switch links from here to the target; -1 when there is no way.
  int from(NodeIndex node) const { return distance_[static_cast<std::size_t>(node)]; }
  /// The ports of a switch that lead one link nearer, by the GUID behind them, then by number.
  std::vector<PortNumber> nearer_ports(NodeIndex node) const;
  /// The first of nearer_ports; 0 when there is none.
  PortNumber first_nearer_port(NodeIndex node) const;

 private:
  const Fabric& fabric_;
  std::vector<int> distance_;
};

}  // namespace espalier::fabric
