#include "cost/estimate.hpp"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "cost/play.hpp"

namespace espalier::cost {
namespace {

/// LogGP with one link per node and direction: messages leave and enter one behind the other, and nothing lies between
/// that they share. They enter as they come: of two nodes whose ranks send many messages at once each has its share of
/// a link, whoever was played first (16 nodes of 64 ranks, an all-to-all of 64 bytes: 820 us, so 466). Where the
/// network is known, a link is as fast as its node's best way, and a message no sooner or faster than its own. A
/// connection carries its messages one behind the other, too, at its own rate; links serve others meanwhile.
class LinkPerNode final : public Wire {
 public:
  LinkPerNode(const topology::Topology& topology, const Parameters& parameters)
      : topology_(topology),
        is_(parameters),
        out_(static_cast<std::size_t>(topology.nodes())),
        in_(static_cast<std::size_t>(topology.nodes())) {}

  void serve(Play& play) { play_ = &play; }
  /// Keeps all messages from now on in `flights`, which must outlive the play.
  void record(std::vector<Flight>& flights) { flights_ = &flights; }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    const topology::Distances& network = topology_.distances();
    const topology::Way way = network.way(topology_.node_of(from), topology_.node_of(to));
    const double own = network.classes() == 0 ? 0 : network.own_per_byte(network.class_of(topology_.node_of(from)));
    const double leaving = serial(bytes, own), entering = serial(bytes, way.per_byte);
    double& out = out_[node(from)];
    out = std::max(out, when) + leaving;
    const double latency = std::max<double>(is_.latency, way.latency);
    const double departure = std::max(out, end_of_flow(from, to, bytes, when));
    coming_.push({out - leaving + latency,
                  message,
                  node(to),
                  entering,
                  departure,
                  departure + latency,
                  {from, to, bytes, when, 0}});
  }

  /// When the next message reaches its receiver's link; `never` while none is under way.
  double next() const { return coming_.empty() ? Play::never : coming_.top().begin; }
  /// Lets that one in.
  void advance() {
    const Coming it = coming_.top();
    coming_.pop();
    double& in = in_[it.to];
    in = std::max(in, it.begin) + it.entering;
    const double arrival = std::max(in, it.soonest);
    if (flights_) {
      flights_->push_back(it.flight);
      flights_->back().arrival = arrival;
    }
    play_->deliver(it.message, it.departure, arrival);
  }

 private:
  /// A message between the two links.
  struct Coming {
    double begin;  ///< when its first byte is there
    std::size_t message;
    std::size_t to;
    double entering;  ///< how long the link takes to let it in
    double departure;
    double soonest;  ///< when its last byte can be there
    Flight flight;   ///< but for its arrival
    bool operator>(const Coming& other) const {
      return std::pair(begin, message) > std::pair(other.begin, other.message);
    }
  };

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
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  Play* play_ = nullptr;
  std::vector<Flight>* flights_ = nullptr;
};

/// To the end.
void run(Play& play, LinkPerNode& wire) {
  while (std::min(play.next(), wire.next()) < Play::never) {
    if (wire.next() <= play.next())
      wire.advance();
    else
      play.advance();
  }
}

}  // namespace

Estimate estimate_time(const plan::Plan& plan, const Parameters& parameters) {
  LinkPerNode wire(plan.topology, parameters);
  Play play(plan, parameters, wire);
  wire.serve(play);
  run(play, wire);
  const std::vector<double> ends = play.ends();
  return {*std::max_element(ends.begin(), ends.end()), ends};
}

Record record_play(const plan::Plan& plan, const Parameters& parameters) {
  LinkPerNode wire(plan.topology, parameters);
  Play play(plan, parameters, wire);
  Record record;
  wire.serve(play);
  wire.record(record.flights);
  play.record(record.spans);
  run(play, wire);
  const std::vector<double> ends = play.ends();
  record.total = *std::max_element(ends.begin(), ends.end());
  return record;
}

}  // namespace espalier::cost
