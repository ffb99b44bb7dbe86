#include "fabric/walker.hpp"

#include <algorithm>

namespace espalier::fabric {
namespace {

Leg leg_of(const Fabric& fabric, const Route& route) {
  return {route.status, static_cast<std::uint16_t>(std::max(0, route.links())),
          static_cast<float>(find_bottleneck(fabric, route).gbps())};
}

}  // namespace

Leg Walker::walk(NodeIndex first, PortNumber in, Endpoint to) {
  if (round_ == 0 || to != to_) ++round_;
  to_ = to;
  if (fabric_.basis != Basis::tables) return search(first, in);
  if (is_lid_stale(fabric_, first, to)) return trace(first, in);
  follow_tables(first);
  const Mark& found = marks_[static_cast<std::size_t>(first)];
  if (found.links == 0) return trace(first, in);
  return {RouteStatus::ok, found.links, static_cast<float>(found.gbps)};
}

// Marks every switch from `first` on, up to one that is known already, or to the end. Each step marks one.
void Walker::follow_tables(NodeIndex first) {
  const Lid lid = fabric_.port(to_).lid;
  path_.clear();
  Mark rest;
  for (NodeIndex at = first;;) {
    Mark& mark = marks_[static_cast<std::size_t>(at)];
    if (mark.round == round_) {
      rest = mark;
      break;
    }
    mark = {round_, 0, 0};
    const auto out = fabric_.table(at).entry(lid);
    const Port* cable = out == ForwardingTable::kNoEntry ? nullptr : fabric_.cable(at, out);
    if (cable == nullptr) return;
    path_.push_back({at, cable->rate.gbps()});
    if (!fabric_.node(cable->peer).is_switch()) {
      if (Endpoint{cable->peer, cable->peer_port} != to_) return;
      rest.links = 1;
      break;
    }
    at = cable->peer;
  }
  if (rest.links == 0) return;
  for (auto step = path_.rbegin(); step != path_.rend(); ++step) {
    rest = {round_, static_cast<std::uint16_t>(rest.links + 1), slower(rest.gbps, step->gbps)};
    marks_[static_cast<std::size_t>(step->node)] = rest;
  }
}

Leg Walker::trace(NodeIndex first, PortNumber in) {
  return leg_of(fabric_, trace_from_switch(fabric_, first, in, to_));
}

Leg Walker::search(NodeIndex first, PortNumber in) {
  Route route;
  route.to = to_;
  route.status = RouteStatus::no_path;
  const auto* last = fabric_.cable(to_.node, to_.port);
  if (last == nullptr || !fabric_.node(last->peer).is_switch()) return {};
  const auto& field = fields_.try_emplace(last->peer, fabric_, last->peer).first->second;
  if (field.from(first) < 0) return {};
  while (first != last->peer) {
    const auto out = field.first_nearer_port(first);
    if (out == 0) return {};
    route.hops.push_back({first, in, out});
    const auto& port = fabric_.node(first).ports[out];
    first = port.peer;
    in = port.peer_port;
  }
  route.hops.push_back({first, in, last->peer_port});
  route.status = RouteStatus::ok;
  return leg_of(fabric_, route);
}

}  // namespace espalier::fabric
