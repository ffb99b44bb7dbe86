#include "fabric/routes.hpp"

#include <algorithm>
#include <array>

namespace espalier::fabric {
namespace {

constexpr std::array<std::string_view, 9> kStatusNames = {"ok",        "self", "src-down",    "no-entry", "port-down",
                                                          "wrong-end", "loop", "stale-table", "no-path"};

Lid lid_of(const Fabric& fabric, Endpoint to, int path) { return static_cast<Lid>(fabric.port(to).lid + path); }

bool has_met(const Route& route, NodeIndex node) {
  return std::any_of(route.hops.begin(), route.hops.end(), [node](const Hop& hop) { return hop.node == node; });
}

// Follows the tables from switch `at` on. Each round adds a switch that was not met before, or returns.
RouteStatus walk(const Fabric& fabric, Route& route, NodeIndex at, PortNumber in, Lid lid) {
  while (fabric.node(at).is_switch()) {
    if (has_met(route, at)) return RouteStatus::loop;
    const auto out = fabric.table(at).entry(lid);
    if (out == ForwardingTable::kNoEntry) {
      route.stuck = at;
      return RouteStatus::no_entry;
    }
    route.hops.push_back({at, in, out});
    if (out == 0) return RouteStatus::wrong_end;  // the switch keeps it
    const auto* cable = fabric.cable(at, out);
    if (cable == nullptr) return fabric.has_stale_tables ? RouteStatus::stale_table : RouteStatus::port_down;
    at = cable->peer;
    in = cable->peer_port;
  }
  return Endpoint{at, in} == route.to ? RouteStatus::ok : RouteStatus::wrong_end;
}

std::string where(const Fabric& fabric, NodeIndex node) {
  return format_guid(fabric.node(node).guid) + " ('" + fabric.node(node).name + "')";
}

}  // namespace

bool is_lid_stale(const Fabric& fabric, NodeIndex first_switch, Endpoint to, int path) {
  const auto& table = fabric.table(first_switch);
  if (!table.exists()) return false;
  const auto& owners = fabric.lid_owners[static_cast<std::size_t>(table.source)];
  const auto lid = lid_of(fabric, to, path);
  const auto own = fabric.port(to).guid;
  return lid < owners.size() && owners[lid] != Guid{} && own != Guid{} && owners[lid] != own;
}

std::string_view name_of(RouteStatus status) { return kStatusNames.at(static_cast<std::size_t>(status)); }

int Route::links() const {
  if (status == RouteStatus::self) return 0;
  return is_ok() ? static_cast<int>(hops.size()) + 1 : -1;
}

Route trace_route(const Fabric& fabric, Endpoint from, Endpoint to, int path) {
  Route route;
  route.from = from;
  route.to = to;
  route.basis = fabric.basis;
  if (from.node == to.node) {
    route.status = RouteStatus::self;
    return route;
  }
  if (fabric.basis != Basis::tables) {
    auto shortest = find_shortest_routes(fabric, from, to, 1);
    if (!shortest.empty()) return std::move(shortest.front());
    route.status = fabric.cable(from.node, from.port) == nullptr ? RouteStatus::src_down : RouteStatus::no_path;
    return route;
  }
  const auto* cable = fabric.cable(from.node, from.port);
  if (cable == nullptr) {
    route.status = RouteStatus::src_down;
    return route;
  }
  if (fabric.node(cable->peer).is_switch()) {
    route = trace_from_switch(fabric, cable->peer, cable->peer_port, to, path);
    route.from = from;
  } else if (Endpoint{cable->peer, cable->peer_port} != to) {
    route.status = RouteStatus::wrong_end;
  }
  return route;
}

Route trace_from_switch(const Fabric& fabric, NodeIndex first, PortNumber in, Endpoint to, int path) {
  Route route;
  route.to = to;
  route.basis = fabric.basis;
  route.hops.reserve(8);  // nearly all routes, in one allocation
  route.status = is_lid_stale(fabric, first, to, path) ? RouteStatus::stale_table
                                                       : walk(fabric, route, first, in, lid_of(fabric, to, path));
  return route;
}

Rate find_bottleneck(const Fabric& fabric, const Route& route) {
  Rate slowest;
  const auto cross = [&](NodeIndex node, PortNumber port) {
    const auto* cable = fabric.cable(node, port);
    if (cable == nullptr || cable->rate.gbps() == 0) return;
    if (slowest.gbps() == 0 || cable->rate.gbps() < slowest.gbps()) slowest = cable->rate;
  };
  if (route.status == RouteStatus::self) return slowest;
  if (route.from.node != kNoNode) cross(route.from.node, route.from.port);
  for (const auto& hop : route.hops) cross(hop.node, hop.out);
  return slowest;
}

std::string explain(const Fabric& fabric, const Route& route) {
  const auto last = route.hops.empty() ? std::string() : where(fabric, route.hops.back().node);
  const auto out = route.hops.empty() ? std::string() : " port " + std::to_string(route.hops.back().out);
  switch (route.status) {
    case RouteStatus::ok: return "";
    case RouteStatus::self: return "both ends are on one adapter";
    case RouteStatus::src_down: return "the source's port is not cabled";
    case RouteStatus::no_entry:
      return "switch " + where(fabric, route.stuck) +
             (!fabric.table(route.stuck).exists() ? " has no forwarding table"
                                                  : " has no entry for the destination's LID");
    case RouteStatus::port_down: return last + " sends it to" + out + ", where nothing is cabled";
    case RouteStatus::wrong_end:
      return last + " sends it to" + out + ", which leads to another end than the destination";
    case RouteStatus::loop: return "it comes back to a switch it has passed; the last new one was " + last;
    case RouteStatus::stale_table:
      return route.hops.empty()
                 ? "the tables give the destination's LID to another port: they are older than the wiring, or newer"
                 : last + " sends it to" + out + ", where nothing is cabled: the tables are older than the wiring";
    case RouteStatus::no_path: return "nothing connects the two";
  }
  return "";
}

std::string format_hops(const Fabric& fabric, const Route& route) {
  std::string text;
  for (const auto& hop : route.hops) {
    if (!text.empty()) text += ' ';
    text +=
        format_guid(fabric.node(hop.node).guid) + "[" + std::to_string(hop.in) + ">" + std::to_string(hop.out) + "]";
  }
  return text.empty() ? "-" : text;
}

}  // namespace espalier::fabric
