#pragma once
// The cables between switches on the routes among some hosts: where their messages meet.

#include <vector>

#include "fabric/routes.hpp"

namespace espalier::fabric {

/// Routes from the first switches of some hosts to each of them. A route depends on where it begins by the first switch
/// only. Hosts at no switch are a leaf of their own.
struct RouteCables {
  std::vector<int> leaf_of;  ///< by host, from 0 in the order in which they first occur
  std::vector<double> gbps;  ///< by cable, each direction by itself; 0: no rate is known
  std::vector<int> begin;    ///< by leaf, then host, and one more: where the route begins in `taken`
  std::vector<int> taken;    ///< cables, without the hosts' own; nothing where there is no route
};

/// Traces leaves x hosts routes, a microsecond or two each; none at all when those are more than `most`.
RouteCables derive_cables(const Fabric& fabric, const std::vector<Endpoint>& hosts, std::size_t most);

}  // namespace espalier::fabric
