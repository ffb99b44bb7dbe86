#include "simulate/simulate.hpp"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <unordered_map>

#include "base/error.hpp"
#include "simulate/placement.hpp"

// SimGrid's unit of time stands for one microsecond here: its clock resolves 10^-9 of it, and rates are bytes per
// microsecond as everywhere in src/cost.

namespace espalier::simulate {
namespace {

namespace s4u = simgrid::s4u;

/// The fluid model without corrections that were calibrated for other networks: TCP over Ethernet, acknowledgements.
constexpr const char* plain_model[] = {"espalier",
                                       "--cfg=network/model:CM02",
                                       "--cfg=network/crosstraffic:0",
                                       "--cfg=network/TCP-gamma:0",
                                       "--cfg=network/weight-S:0",
                                       "--log=root.thres:warning"};

/// The network as SimGrid's platform, with routes for those pairs of hosts only that exchange messages in this plan:
/// all of them would be a table of hosts squared.
class Platform {
 public:
  Platform(const plan::Plan& plan, const Network& network, const Options& options)
      : network_(network),
        topology_(plan.topology),
        host_of_node_(check_hosts(network, options.host_of_node, plan.topology.nodes())),
        zone_(s4u::create_full_zone("network")) {
    for (const int host : host_of_node_) hosts_.push_back(zone_->create_host("host" + std::to_string(host), 1)->seal());
    for (const Link& link : network.links()) links_.push_back(create(link));
    if (options.connection_rate > 0) cap_ = create({{options.connection_rate, 0, false}, "connection"});
    for (std::size_t r = 0; r < plan.programs.size(); ++r)
      for (const plan::Step& step : plan.programs[r].steps)
        if (step.op() == plan::Op::send) connect(node(Rank(static_cast<int>(r))), node(step.peer()));
    zone_->seal();
  }

  s4u::Host* host(Rank rank) const { return hosts_[node(rank)]; }
  const std::vector<int>& route(Rank from, Rank to) const { return routes_.at({node(from), node(to)}); }
  double latency(Rank from, Rank to) const {
    double sum = 0;
    for (const int link : route(from, to)) sum += network_.links()[static_cast<std::size_t>(link)].latency;
    return sum;
  }
  double adapter_rate(Rank rank) const {
    return network_.links()[2 * static_cast<std::size_t>(host_of_node_[node(rank)])].rate;
  }

 private:
  std::size_t node(Rank rank) const { return static_cast<std::size_t>(topology_.node_of(rank).value); }

  s4u::Link* create(const Link& link) {
    s4u::Link* created = zone_->create_link(link.name, link.rate)->set_latency(link.latency);
    if (!link.is_shared) created->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
    return created->seal();
  }

  void connect(std::size_t from, std::size_t to) {
    const auto [place, is_new] = routes_.try_emplace({from, to});
    if (!is_new) return;
    place->second = network_.route(host_of_node_[from], host_of_node_[to]);
    std::vector<s4u::LinkInRoute> links;
    if (cap_ != nullptr) links.emplace_back(cap_);
    for (const int link : place->second) links.emplace_back(links_[static_cast<std::size_t>(link)]);
    zone_->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr, nullptr, links, false);
  }

  const Network& network_;
  const topology::Topology& topology_;
  std::vector<int> host_of_node_;
  s4u::NetZone* zone_;
  std::vector<s4u::Host*> hosts_;  ///< by node
  std::vector<s4u::Link*> links_;
  s4u::Link* cap_ = nullptr;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<int>> routes_;
};

/// The play and the simulator take turns on the simulator's clock: timers wake the play when its next step is due,
/// ended communications deliver messages. No simulated process is needed.
class Stage final : public cost::Wire {
 public:
  Stage(const Platform& platform, const cost::Parameters& parameters, const Options& options, Result& result)
      : platform_(platform), is_(parameters), options_(options), result_(result) {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& ended) { land(ended); });
  }

  void run(cost::Play& play, s4u::Engine& engine) {
    play_ = &play;
    wake_at(play.next());
    engine.run();
    if (!play.is_over()) throw Error("the plan did not come to its end: verify it");
  }

  void carry(std::size_t message, Rank from, Rank to, Bytes bytes, double when) override {
    const Flight flight{from, to, bytes, when, 0};
    if (when <= s4u::Engine::get_clock())
      launch(message, flight);
    else
      simgrid::kernel::timer::Timer::set(when, [this, message, flight] { launch(message, flight); });
  }

 private:
  void wake_at(double when) {
    if (when >= alarm_) return;
    alarm_ = when;
    // An earlier alarm takes a later one's place, whose timer then rings in vain. If that one played on too, it would
    // set another timer at its end, and so on for ever: their number would only grow.
    simgrid::kernel::timer::Timer::set(std::max(when, s4u::Engine::get_clock()), [this, when] {
      if (when == alarm_) play_on();
    });
  }

  void play_on() {
    alarm_ = cost::Play::never;
    while (play_->next() <= s4u::Engine::get_clock()) play_->advance();
    wake_at(play_->next());
  }

  void launch(std::size_t message, const Flight& flight) {
    const auto bytes = static_cast<double>(flight.bytes);
    const double least = is_.gap * platform_.adapter_rate(flight.from);
    auto comm = s4u::Comm::sendto_init(platform_.host(flight.from), platform_.host(flight.to));
    comm->set_payload_size(static_cast<std::uint64_t>(std::max({bytes, least, 1.0})));
    for (const int link : platform_.route(flight.from, flight.to))
      result_.link_bytes[static_cast<std::size_t>(link)] += bytes;
    flying_.emplace(comm.get(), std::tuple{message, flight, comm});
    comm->vetoable_start();
  }

  void land(const s4u::Activity& ended) {
    const auto place = flying_.find(&ended);
    if (place == flying_.end()) return;
    auto [message, flight, comm] = std::move(place->second);
    flying_.erase(place);
    ++result_.messages;
    flight.arrival = s4u::Engine::get_clock();
    if (options_.keeps_flights) result_.flights.push_back(flight);
    play_->deliver(message, flight.arrival - platform_.latency(flight.from, flight.to), flight.arrival);
    wake_at(play_->next());
  }

  const Platform& platform_;
  const cost::Parameters& is_;
  const Options& options_;
  Result& result_;
  cost::Play* play_ = nullptr;
  double alarm_ = cost::Play::never;
  std::unordered_map<const s4u::Activity*, std::tuple<std::size_t, Flight, s4u::CommPtr>> flying_;
};

}  // namespace

bool has_simgrid() { return true; }

Result simulate_simgrid(const plan::Plan& plan, const Network& network, const cost::Parameters& parameters,
                        const Options& options) {
  std::vector<char*> arguments;
  for (const char* argument : plain_model) arguments.push_back(const_cast<char*>(argument));
  if (options.shares_anew) arguments.push_back(const_cast<char*>("--cfg=network/optim:Full"));
  int count = static_cast<int>(arguments.size());
  s4u::Engine engine(&count, arguments.data());
  const Platform platform(plan, network, options);

  Result result;
  result.link_bytes.resize(network.links().size());
  Stage stage(platform, parameters, options, result);
  cost::Play play(plan, parameters, stage);
  if (options.keeps_spans) play.record(result.spans);
  stage.run(play, engine);
  result.ends = play.ends();
  result.total = *std::max_element(result.ends.begin(), result.ends.end());
  return result;
}

}  // namespace espalier::simulate
