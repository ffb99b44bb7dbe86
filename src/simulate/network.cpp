#include "simulate/network.hpp"

#include "base/error.hpp"

namespace espalier::simulate {
namespace {

/// The slow hosts lie evenly among the others: host h is slow when the count of slow ones grows at h.
bool is_slow(int host, int hosts, const Wiring& wiring) {
  const auto below = [&](long end) { return end * wiring.slow_hosts / hosts; };
  return below(host + 1) > below(host);
}

}  // namespace

Network::Network(int hosts, const Wiring& wiring) : hosts_(hosts) {
  if (hosts < 1) throw Error("a network needs at least one host");
  for (int h = 0; h < hosts; ++h) {
    const double rate = is_slow(h, hosts, wiring) ? wiring.slow_rate : wiring.rate;
    add("host" + std::to_string(h) + ".up", rate, wiring.latency_at(0));
    add("host" + std::to_string(h) + ".down", rate, wiring.latency_at(0));
  }
}

int Network::add(std::string name, double rate, double latency) {
  links_.push_back({std::move(name), rate, latency});
  return static_cast<int>(links_.size()) - 1;
}

void Network::add_cables(const std::string& lower, int lowers, int uppers, double rate, double latency) {
  for (int l = 0; l < lowers; ++l)
    for (int u = 0; u < uppers; ++u) {
      const std::string cable = lower + std::to_string(l) + "." + std::to_string(u);
      add(cable + ".up", rate, latency);
      add(cable + ".down", rate, latency);
    }
}

std::unique_ptr<Network> make_star(int hosts, const Wiring& wiring) {
  struct Made final : Network {
    Made(int count, const Wiring& all) : Network(count, all) {}
    std::vector<int> route(int from, int to) const override { return {up_from(from), down_to(to)}; }
    std::string describe() const override { return "one switch: " + std::to_string(hosts()) + " hosts"; }
  };
  return std::make_unique<Made>(hosts, wiring);
}

}  // namespace espalier::simulate
