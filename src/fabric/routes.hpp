#pragma once
// The way packets take from one host to another.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/graph.hpp"

namespace espalier::fabric {

enum class RouteStatus : std::uint8_t {
  ok,
  self,         ///< both ends are on one adapter: nothing crosses the network
  src_down,     ///< the source's port leads nowhere
  no_entry,     ///< a switch has no entry for the LID (255), or no table at all
  port_down,    ///< the entry names a port at which nothing is cabled
  wrong_end,    ///< the packets arrive, but at another port than the destination's
  loop,         ///< a switch is met again
  stale_table,  ///< wiring and tables are of different times: the entry's port is dead and there are tables of switches
                ///< that are gone, or the tables take the LID for another port's
  no_path,      ///< without tables: the wiring does not connect the two
};
/// "ok", "no-entry"…: stable names.
std::string_view name_of(RouteStatus status);

/// A switch on the way, entered by port `in` and left by port `out`.
struct Hop {
  NodeIndex node = kNoNode;
  PortNumber in = 0;
  PortNumber out = 0;
  bool operator==(const Hop&) const = default;
};

struct Route {
  Endpoint from, to;
  RouteStatus status = RouteStatus::ok;
  Basis basis = Basis::tables;
  std::vector<Hop> hops;      ///< up to where it failed, when it did
  NodeIndex stuck = kNoNode;  ///< of no_entry: the switch that does not know further

  bool is_ok() const { return status == RouteStatus::ok; }
  /// Links crossed: one more than switches. 0 to oneself, -1 when there is no route.
  int links() const;
};

/// The route from one adapter port to another's LID (the port's base LID plus `path`, 0 … 2^lmc - 1), walked through
/// the forwarding tables; without tables, one shortest path (of equal ones the one with the lowest GUIDs and ports).
/// Pure and bounded: a switch is met at most once.
Route trace_route(const Fabric& fabric, Endpoint from, Endpoint to, int path = 0);

/// The rest of such a route from switch `first`, entered by port `in`. For fabrics with forwarding tables.
Route trace_from_switch(const Fabric& fabric, NodeIndex first, PortNumber in, Endpoint to, int path = 0);

/// Whether the tables' own comments, as `first_switch` has them, give the LID by which `to` is reached to another port.
bool is_lid_stale(const Fabric& fabric, NodeIndex first_switch, Endpoint to, int path = 0);

/// All shortest paths of the wiring, up to `most`, ordered by GUIDs and ports. Empty when the two are not connected.
std::vector<Route> find_shortest_routes(const Fabric& fabric, Endpoint from, Endpoint to, std::size_t most = 64);

/// The slowest link of a route and what it carries, 10^9 bit/s; the rate of 0 lanes when no link's rate is known.
Rate find_bottleneck(const Fabric& fabric, const Route& route);

/// What is wrong with a route, naming the switch; empty when nothing is.
std::string explain(const Fabric& fabric, const Route& route);

/// "0x…[in>out] 0x…[in>out]"; "-" for a route without switches.
std::string format_hops(const Fabric& fabric, const Route& route);

}  // namespace espalier::fabric
