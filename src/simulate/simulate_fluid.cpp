// The play and the flows take turns on one clock: whoever is due first goes on.

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "flows/fluid.hpp"
#include "simulate/placement.hpp"
#include "simulate/simulate.hpp"

namespace espalier::simulate {
namespace {

class FluidStage final : public cost::Wire {
 public:
  FluidStage(const plan::Plan& plan, const Network& network, const cost::Parameters& parameters, const Options& options,
             Result& result)
      : network_(network),
        topology_(plan.topology),
        is_(parameters),
        options_(options),
        hosts_(check_hosts(network, options.host_of_node, plan.topology.nodes())),
        fluid_(std::vector<flows::Link>(network.links().begin(), network.links().end()), options.connection_rate),
        result_(result) {}

  void run(cost::Play& play) {
    play_ = &play;
    while ((now_ = std::max(now_, due())) < flows::Fluid::never) {
      set_out();
      if (fluid_.next() <= now_) arrive();
      while (play.next() <= now_) play.advance();
    }
    if (!play.is_over()) throw Error("the plan did not come to its end: verify it");
  }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    waiting_.emplace(when, Message{message, {from, to, bytes, when, 0}, 0});
  }

 private:
  struct Message {
    std::size_t number;
    Flight flight;
    double latency;
  };

  double due() {
    const double first = waiting_.empty() ? flows::Fluid::never : waiting_.begin()->first;
    return std::min({play_->next(), fluid_.next(), first});
  }

  int host(Rank rank) const { return hosts_[static_cast<std::size_t>(topology_.node_of(rank).value)]; }

  void set_out() {
    while (!waiting_.empty() && waiting_.begin()->first <= now_) {
      launch(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    }
  }

  void launch(Message message) {
    const int from = host(message.flight.from);
    const std::vector<int> route = network_.route(from, host(message.flight.to));
    const auto bytes = static_cast<double>(message.flight.bytes);
    for (const int link : route) {
      const auto index = static_cast<std::size_t>(link);
      result_.link_bytes[index] += bytes;
      message.latency += network_.links()[index].latency;
    }
    const double least = is_.gap * network_.links()[2 * static_cast<std::size_t>(from)].rate;
    const std::size_t name = take_name();
    flying_[name] = message;
    fluid_.start(name, route, std::max({bytes, least, 1.0}), now_);
  }

  std::size_t take_name() {
    if (free_.empty()) {
      flying_.emplace_back();
      return flying_.size() - 1;
    }
    const std::size_t name = free_.back();
    free_.pop_back();
    return name;
  }

  void arrive() {
    ended_.clear();
    fluid_.advance(ended_);
    for (const std::size_t name : ended_) {
      Message& message = flying_[name];
      ++result_.messages;
      message.flight.arrival = now_;
      if (options_.keeps_flights) result_.flights.push_back(message.flight);
      play_->deliver(message.number, now_ - message.latency, now_);
      free_.push_back(name);
    }
  }

  const Network& network_;
  const topology::Topology& topology_;
  const cost::Parameters& is_;
  const Options& options_;
  const std::vector<int> hosts_;
  flows::Fluid fluid_;
  Result& result_;
  cost::Play* play_ = nullptr;
  double now_ = 0;
  std::multimap<double, Message> waiting_;  ///< by when they set out
  std::vector<Message> flying_;
  std::vector<std::size_t> free_, ended_;
};

}  // namespace

Result simulate_fluid(const plan::Plan& plan, const Network& network, const cost::Parameters& parameters,
                      const Options& options) {
  Result result;
  result.link_bytes.resize(network.links().size());
  FluidStage stage(plan, network, parameters, options, result);
  cost::Play play(plan, parameters, stage);
  if (options.keeps_spans) play.record(result.spans);
  stage.run(play);
  result.ends = play.ends();
  result.total = *std::max_element(result.ends.begin(), result.ends.end());
  return result;
}

}  // namespace espalier::simulate
