#pragma once
// What routes from many switches to one destination come to, without tracing each of them to its end.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "fabric/routes.hpp"
#include "fabric/shortest.hpp"

namespace espalier::fabric {

/// A route from a first switch to its destination. The link to that first switch counts among `links`, but not for the
/// rate: it is the sender's own.
struct Leg {
  RouteStatus status = RouteStatus::no_path;
  std::uint16_t links = 0;  ///< 0 where there is no route
  float gbps = 0;           ///< of the slowest cable; 0: no rate known
  bool operator==(const Leg&) const = default;
};

/// Routes to one destination meet, so each switch is looked up once per destination: 1024 destinations from 256 leaf
/// switches take milliseconds. What does not arrive is traced alone, for its exact status. `fabric` outlives it.
class Walker {
 public:
  explicit Walker(const Fabric& fabric) : fabric_(fabric), marks_(fabric.nodes.size()) {}

  /// From switch `first`, entered by port `in`. Quick while `to` stays the same.
  Leg walk(NodeIndex first, PortNumber in, Endpoint to);

 private:
  /// What is known of a switch in this round. No links: it does not arrive, or is being walked from.
  struct Mark {
    std::uint32_t round = 0;
    std::uint16_t links = 0;
    double gbps = 0;
  };
  struct Step {
    NodeIndex node;
    double gbps;  ///< of the cable by which the route goes on
  };

  void follow_tables(NodeIndex first);
  Leg trace(NodeIndex first, PortNumber in);
  Leg search(NodeIndex first, PortNumber in);

  const Fabric& fabric_;
  Endpoint to_;
  std::uint32_t round_ = 0;  ///< one per destination
  std::vector<Mark> marks_;  ///< by node
  std::vector<Step> path_;
  std::unordered_map<NodeIndex, DistanceField> fields_;  ///< without tables: from the destinations' switches
};

}  // namespace espalier::fabric
