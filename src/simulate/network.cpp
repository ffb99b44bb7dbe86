#include "simulate/network.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace espalier::simulate {
namespace {

/// The slow hosts lie evenly among the others: host h is slow when the count of slow ones grows at h.
bool is_slow(int host, int hosts, const Wiring& wiring) {
  const auto below = [&](long end) { return end * wiring.slow_hosts / hosts; };
  return below(host + 1) > below(host);
}

}  // namespace

Network::Network(int hosts) : hosts_(hosts) {
  if (hosts < 1) throw Error("a network needs at least one host");
}

Network::Network(int hosts, const Wiring& wiring) : Network(hosts) {
  if (wiring.slow_hosts > hosts)
    throw Error("slow_hosts=" + std::to_string(wiring.slow_hosts) + ": there are only " + std::to_string(hosts) +
                " hosts");
  for (int h = 0; h < hosts; ++h) {
    const double rate = is_slow(h, hosts, wiring) ? wiring.slow_rate : wiring.rate;
    add("host" + std::to_string(h) + ".up", rate, wiring.latency_at(0));
    add("host" + std::to_string(h) + ".down", rate, wiring.latency_at(0));
  }
}

int Network::add(std::string name, double rate, double latency, bool is_shared) {
  links_.push_back({{rate, latency, is_shared}, std::move(name)});
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

int Network::find_host(std::string_view name) const {
  const int host = espalier::parse_number<int>(name.starts_with("host") ? name.substr(4) : name).value_or(-1);
  if (host >= 0 && host < hosts_) return host;
  throw Error("there is no host '" + std::string(name) + "': they are host0 to host" + std::to_string(hosts_ - 1));
}

topology::Distances Network::distances(std::span<const int> hosts) const {
  std::vector<topology::Way> ways;
  ways.reserve(hosts.size() * hosts.size());
  for (const int from : hosts)
    for (const int to : hosts) {
      topology::Way& way = ways.emplace_back();
      if (from == to) continue;
      double latency = 0;
      for (const int link : route(from, to)) {
        const Link& crossed = links_[static_cast<std::size_t>(link)];
        latency += crossed.latency;
        way.per_byte = std::max(way.per_byte, static_cast<float>(1 / crossed.rate));
      }
      way.latency = static_cast<float>(latency);
    }
  return topology::Distances::from_matrix(static_cast<int>(hosts.size()), ways)
      .with_trunks(trunks_of(hosts))
      .with_cables(cables_of(hosts));
}

/// As the trunks number leaves. Of a rack's hosts the first stands for all, since they are routed alike.
topology::Cables Network::cables_of(std::span<const int> hosts) const {
  topology::Cables cables;
  std::vector<int> sample, number(links_.size(), -1);
  for (const int host : hosts) {
    sample.resize(std::max(sample.size(), static_cast<std::size_t>(rack_of(host)) + 1), -1);
    int& first = sample[static_cast<std::size_t>(rack_of(host))];
    if (first < 0) first = host;
  }
  if (sample.size() * hosts.size() > topology::Cables::most_routes) return {};
  for (const int from : sample)
    for (const int to : hosts) {
      cables.begin.push_back(static_cast<int>(cables.taken.size()));
      if (from < 0 || rack_of(from) == rack_of(to)) continue;
      for (const int link : route(from, to)) {
        if (link < 2 * hosts_) continue;
        int& known = number[static_cast<std::size_t>(link)];
        if (known < 0) {
          known = static_cast<int>(cables.per_byte.size());
          cables.per_byte.push_back(static_cast<float>(1 / rate_of(link)));
        }
        cables.taken.push_back(known);
      }
    }
  cables.begin.push_back(static_cast<int>(cables.taken.size()));
  return cables;
}

topology::Trunks Network::trunks_of(std::span<const int> hosts) const {
  topology::Trunks trunks;
  for (const int host : hosts) {
    const int rack = rack_of(host);
    const double rate = trunk_rate(rack);
    trunks.leaf_of.push_back(rack);
    trunks.per_byte.resize(std::max(trunks.per_byte.size(), static_cast<std::size_t>(rack) + 1));
    trunks.per_byte[static_cast<std::size_t>(rack)] = rate > 0 ? static_cast<float>(1 / rate) : 0;
  }
  return trunks;
}

std::unique_ptr<Network> make_star(int hosts, const Wiring& wiring) {
  struct Made final : Network {
    Made(int count, const Wiring& all) : Network(count, all) {}
    std::vector<int> route(int from, int to) const override { return {up_from(from), down_to(to)}; }
    int rack_of(int) const override { return 0; }
    std::string describe() const override { return "one switch: " + std::to_string(hosts()) + " hosts"; }
  };
  return std::make_unique<Made>(hosts, wiring);
}

}  // namespace espalier::simulate
