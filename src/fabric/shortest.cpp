#include "fabric/shortest.hpp"

#include <algorithm>

#include "fabric/routes.hpp"

namespace espalier::fabric {

DistanceField::DistanceField(const Fabric& fabric, NodeIndex target)
    : fabric_(fabric), distance_(fabric.nodes.size(), -1) {
  std::vector<NodeIndex> reached{target};
  distance_[static_cast<std::size_t>(target)] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const int next = from(reached[i]) + 1;
    for (const auto& port : fabric.node(reached[i]).ports) {
      // Adapters don't pass on what is for others.
      if (port.peer == kNoNode || !fabric.node(port.peer).is_switch() || from(port.peer) >= 0) continue;
      distance_[static_cast<std::size_t>(port.peer)] = next;
      reached.push_back(port.peer);
    }
  }
}

std::vector<PortNumber> DistanceField::nearer_ports(NodeIndex index) const {
  const auto& node = fabric_.node(index);
  std::vector<PortNumber> numbers;
  for (PortNumber number = 1; number < node.ports.size(); ++number) {
    const auto peer = node.ports[number].peer;
    if (peer != kNoNode && from(peer) >= 0 && from(peer) == from(index) - 1) numbers.push_back(number);
  }
  std::stable_sort(numbers.begin(), numbers.end(), [&](PortNumber a, PortNumber b) {
    return fabric_.node(node.ports[a].peer).guid < fabric_.node(node.ports[b].peer).guid;
  });
  return numbers;
}

PortNumber DistanceField::first_nearer_port(NodeIndex index) const {
  const auto& node = fabric_.node(index);
  PortNumber best = 0;
  for (PortNumber number = 1; number < node.ports.size(); ++number) {
    const auto peer = node.ports[number].peer;
    if (peer == kNoNode || from(peer) < 0 || from(peer) != from(index) - 1) continue;
    if (best == 0 || fabric_.node(peer).guid < fabric_.node(node.ports[best].peer).guid) best = number;
  }
  return best;
}

namespace {

class Search {
 public:
  Search(const Fabric& fabric, Endpoint from, Endpoint to, std::size_t most, const Port& last)
      : fabric_(fabric), field_(fabric, last.peer), target_(last.peer), exit_(last.peer_port), most_(most) {
    route_.from = from;
    route_.to = to;
    route_.basis = fabric.basis == Basis::tree ? Basis::tree : Basis::shortest;
  }

  std::vector<Route> run(const Port& first) {
    if (field_.from(first.peer) >= 0) go_on(first);
    return std::move(found_);
  }

 private:
  // Every step comes one link nearer. Only wiring whose ends contradict each other leads into dead ends; the budget
  // bounds the time lost there, and the depth.
  void go_on(const Port& cable) {
    if (found_.size() >= most_ || route_.hops.size() > kDeepest || ++steps_ > kMostSteps) return;
    if (cable.peer == target_) {
      route_.hops.push_back({cable.peer, cable.peer_port, exit_});
      found_.push_back(route_);
      route_.hops.pop_back();
      return;
    }
    for (const auto number : field_.nearer_ports(cable.peer)) {
      route_.hops.push_back({cable.peer, cable.peer_port, number});
      go_on(fabric_.node(cable.peer).ports[number]);
      route_.hops.pop_back();
    }
  }

  static constexpr std::size_t kDeepest = 1024;
  static constexpr int kMostSteps = 1 << 16;

  const Fabric& fabric_;
  DistanceField field_;
  NodeIndex target_;
  PortNumber exit_;
  std::size_t most_;
  int steps_ = 0;
  Route route_;
  std::vector<Route> found_;
};

}  // namespace

std::vector<Route> find_shortest_routes(const Fabric& fabric, Endpoint from, Endpoint to, std::size_t most) {
  const auto* first = fabric.cable(from.node, from.port);
  const auto* last = fabric.cable(to.node, to.port);
  if (from.node == to.node || first == nullptr || last == nullptr) return {};
  if (Endpoint{first->peer, first->peer_port} == to) {
    Route direct;
    direct.from = from;
    direct.to = to;
    direct.basis = fabric.basis == Basis::tree ? Basis::tree : Basis::shortest;
    return {direct};
  }
  if (!fabric.node(first->peer).is_switch() || !fabric.node(last->peer).is_switch()) return {};
  return Search(fabric, from, to, most, *last).run(*first);
}

}  // namespace espalier::fabric
