#include "fabric/cables.hpp"

#include <map>
#include <utility>

namespace espalier::fabric {
namespace {

/// Numbers cables, by the switch and port that they leave, in the order in which they are first taken.
class Numbering {
 public:
  Numbering(const Fabric& fabric, RouteCables& found) : fabric_(fabric), found_(found) {}

  void take(const Route& route) {
    if (!route.is_ok()) return;
    for (std::size_t hop = 0; hop + 1 < route.hops.size(); ++hop)
      found_.taken.push_back(number_of(route.hops[hop].node, route.hops[hop].out));
  }

 private:
  int number_of(NodeIndex node, PortNumber port) {
    const auto [known, is_new] = numbers_.try_emplace({node, port}, static_cast<int>(found_.gbps.size()));
    if (is_new) {
      const Port* cable = fabric_.cable(node, port);
      found_.gbps.push_back(cable == nullptr ? 0 : cable->rate.gbps());
    }
    return known->second;
  }

  const Fabric& fabric_;
  RouteCables& found_;
  std::map<std::pair<NodeIndex, PortNumber>, int> numbers_;
};

}  // namespace

RouteCables derive_cables(const Fabric& fabric, const std::vector<Endpoint>& hosts, std::size_t most) {
  RouteCables found;
  std::vector<Endpoint> samples;  // of each leaf, its first host
  std::map<NodeIndex, int> leaves;
  for (const Endpoint& host : hosts) {
    const Port* cable = fabric.cable(host.node, host.port);
    const bool is_at_switch = cable != nullptr && fabric.node(cable->peer).is_switch();
    const NodeIndex leaf = is_at_switch ? cable->peer : host.node;
    const auto [known, is_new] = leaves.try_emplace(leaf, static_cast<int>(samples.size()));
    if (is_new) samples.push_back(host);
    found.leaf_of.push_back(known->second);
  }
  if (samples.size() * hosts.size() > most) return found;
  Numbering cables(fabric, found);
  for (std::size_t leaf = 0; leaf < samples.size(); ++leaf)
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      found.begin.push_back(static_cast<int>(found.taken.size()));
      if (static_cast<std::size_t>(found.leaf_of[host]) != leaf)
        cables.take(trace_route(fabric, samples[leaf], hosts[host]));
    }
  found.begin.push_back(static_cast<int>(found.taken.size()));
  return found;
}

}  // namespace espalier::fabric
