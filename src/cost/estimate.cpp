#include "cost/estimate.hpp"

#include <algorithm>

#include "cost/play.hpp"

namespace espalier::cost {
namespace {

/// LogGP with one link per node and direction: messages leave and enter one behind the other, and nothing lies between.
class LinkPerNode final : public Wire {
 public:
  LinkPerNode(const topology::Topology& topology, const Parameters& parameters)
      : topology_(topology),
        is_(parameters),
        out_(static_cast<std::size_t>(topology.nodes())),
        in_(static_cast<std::size_t>(topology.nodes())) {}

  void serve(Play& play) { play_ = &play; }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    const double serial = std::max(is_.gap, static_cast<double>(bytes) / is_.link_rate);
    double& out = out_[node(from)];
    out = std::max(out, when) + serial;
    double& in = in_[node(to)];
    in = std::max(in, out - serial + is_.latency) + serial;
    play_->deliver(message, out, in);
  }

 private:
  std::size_t node(Rank rank) const { return static_cast<std::size_t>(topology_.node_of(rank).value); }

  const topology::Topology& topology_;
  const Parameters& is_;
  std::vector<double> out_, in_;  ///< by node: busy until
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
