#include "cost/estimate.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cost/play.hpp"

namespace espalier::cost {
namespace {

/// LogGP with one link per node and direction: messages leave and enter one behind the other, and nothing lies between
/// that they share. Where the network is known, a link is as fast as its node's best way, and a message no sooner or
/// faster than its own. A connection carries its messages one behind the other, too, at its own rate; links serve
/// others meanwhile.
class LinkPerNode final : public Wire {
 public:
  LinkPerNode(const topology::Topology& topology, const Parameters& parameters)
      : topology_(topology),
        is_(parameters),
        out_(static_cast<std::size_t>(topology.nodes())),
        in_(static_cast<std::size_t>(topology.nodes())) {}

  void serve(Play& play) { play_ = &play; }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    const topology::Distances& network = topology_.distances();
    const topology::Way way = network.way(topology_.node_of(from), topology_.node_of(to));
    const double own = network.classes() == 0 ? 0 : network.own_per_byte(network.class_of(topology_.node_of(from)));
    const double leaving = serial(bytes, own), entering = serial(bytes, way.per_byte);
    double& out = out_[node(from)];
    out = std::max(out, when) + leaving;
    double& in = in_[node(to)];
    const double latency = std::max<double>(is_.latency, way.latency);
    in = std::max(in, out - leaving + latency) + entering;
    const double departure = std::max(out, end_of_flow(from, to, bytes, when));
    play_->deliver(message, departure, std::max(in, departure + latency));
  }

 private:
  double serial(Bytes bytes, double per_byte) const {
    return std::max(is_.gap, static_cast<double>(bytes) * std::max(per_byte, 1 / is_.link_rate));
  }

  /// When the connection has carried the message.
  double end_of_flow(Rank from, Rank to, Bytes bytes, double when) {
    if (is_.flow_rate >= is_.link_rate) return 0;
    double& flow = flows_[{from.value, to.value}];
    return flow = std::max(flow, when) + static_cast<double>(bytes) / is_.flow_rate;
  }

  std::size_t node(Rank rank) const { return static_cast<std::size_t>(topology_.node_of(rank).value); }

  const topology::Topology& topology_;
  const Parameters& is_;
  std::vector<double> out_, in_;                 ///< by node: busy until
  std::map<std::pair<int, int>, double> flows_;  ///< by sender and receiver: busy until
  Play* play_ = nullptr;
};

}  // namespace

Estimate estimate_time(const plan::Plan& plan, const Parameters& parameters) {
  LinkPerNode wire(plan.topology, parameters);
  Play play(plan, parameters, wire);
  wire.serve(play);
  while (play.next() < Play::never) play.advance();
  const std::vector<double> ends = play.ends();
  return {*std::max_element(ends.begin(), ends.end()), ends};
}

}  // namespace espalier::cost
