// The network that a fabric's dumps describe.

#include <map>
#include <utility>

#include "base/error.hpp"
#include "fabric/delays.hpp"
#include "fabric/routes.hpp"
#include "simulate/network.hpp"
#include "topology/network.hpp"

namespace espalier::simulate {
namespace {

using fabric::Endpoint;
using fabric::NodeIndex;
using fabric::PortNumber;

/// 1 Gbit/s is 125 bytes per microsecond.
constexpr double bytes_per_microsecond = 125;
/// Rate of what is no cable: never the slowest of a route.
constexpr double unbounded = 1e12;

class FabricNetwork final : public Network {
 public:
  FabricNetwork(fabric::Fabric fabric, const Wiring& wiring)
      : Network(static_cast<int>(fabric.hosts.size())), fabric_(std::move(fabric)) {
    for (const fabric::Host& host : fabric_.hosts) {
      const Endpoint at = host.endpoints.front();
      const double rate = rate_of(at.node, at.port, wiring);
      add(host.name + ".up", rate, 0);
      add(host.name + ".down", rate, 0);
      const fabric::Port* cable = fabric_.cable(at.node, at.port);
      racks_.push_back(rack(cable == nullptr ? at.node : cable->peer));
    }
    add_cables_of_switches(wiring);
    const auto latency = fabric::LatencyTable::ranger();
    for (int links = 1; links <= most_links; ++links)
      add(std::to_string(links) + " links", unbounded, latency.at(links), false);
  }

  std::vector<int> route(int from, int to) const override {
    const fabric::Route route = fabric::trace_route(fabric_, end(from), end(to));
    if (!route.is_ok())
      throw Error("no route from " + fabric_.label(end(from)) + " to " + fabric_.label(end(to)) + ": " +
                  (route.status == fabric::RouteStatus::self ? "both are one adapter" : explain(fabric_, route)));
    std::vector<int> links = {up_from(from)};
    for (std::size_t hop = 0; hop + 1 < route.hops.size(); ++hop)
      links.push_back(cables_.at({route.hops[hop].node, route.hops[hop].out}));
    links.push_back(first_delay() + std::min(route.links(), most_links) - 1);
    links.push_back(down_to(to));
    return links;
  }

  int rack_of(int host) const override { return racks_[static_cast<std::size_t>(host)]; }

  int find_host(std::string_view name) const override {
    const auto found = fabric_.host_of.find(fabric_.find_endpoint(name).node);
    if (found == fabric_.host_of.end()) throw Error("'" + std::string(name) + "' is no host of these dumps");
    return found->second;
  }

  topology::Distances distances(std::span<const int> hosts) const override {
    std::vector<Endpoint> ends;
    for (const int host : hosts) ends.push_back(end(host));
    return topology::derive_distances(fabric_, ends);
  }

  std::string describe() const override {
    return "dumps of a network: " + std::to_string(hosts()) + " hosts on " + std::to_string(rack_of_switch_.size()) +
           " switches, routes from " + std::string(name_of(fabric_.basis));
  }

 private:
  /// Longer routes count as so long; what their latencies are beyond seven links nobody has measured.
  static constexpr int most_links = 16;

  Endpoint end(int host) const { return fabric_.hosts[static_cast<std::size_t>(host)].endpoints.front(); }
  int first_delay() const { return static_cast<int>(links().size()) - most_links; }

  double rate_of(NodeIndex node, PortNumber port, const Wiring& wiring) const {
    const fabric::Port* cable = fabric_.cable(node, port);
    const double gbps = cable == nullptr ? 0 : cable->rate.gbps();
    return gbps == 0 ? wiring.rate : gbps * bytes_per_microsecond;
  }

  int rack(NodeIndex first_switch) {
    return rack_of_switch_.try_emplace(first_switch, static_cast<int>(rack_of_switch_.size())).first->second;
  }

  void add_cables_of_switches(const Wiring& wiring) {
    for (NodeIndex node = 0; node < static_cast<NodeIndex>(fabric_.nodes.size()); ++node) {
      if (!fabric_.node(node).is_switch()) continue;
      for (std::size_t port = 1; port < fabric_.node(node).ports.size(); ++port) {
        const auto number = static_cast<PortNumber>(port);
        const fabric::Port* cable = fabric_.cable(node, number);
        if (cable == nullptr || !fabric_.node(cable->peer).is_switch()) continue;
        const std::string name = format_guid(fabric_.node(node).guid) + "[" + std::to_string(port) + "]";
        cables_[{node, number}] = add(name, rate_of(node, number, wiring), 0);
      }
    }
  }

  fabric::Fabric fabric_;
  std::vector<int> racks_;                                  ///< by host
  std::map<NodeIndex, int> rack_of_switch_;                 ///< those that hosts are cabled to
  std::map<std::pair<NodeIndex, PortNumber>, int> cables_;  ///< link that leaves a switch by a port for another one
};

}  // namespace

std::unique_ptr<Network> make_fabric(fabric::Fabric fabric, const Wiring& wiring) {
  return std::make_unique<FabricNetwork>(std::move(fabric), wiring);
}

}  // namespace espalier::simulate
