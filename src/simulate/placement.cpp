#include "simulate/placement.hpp"

#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"

namespace espalier::simulate {

using topology::Distances;
using topology::Way;

namespace {

std::vector<int> all_hosts(const Network& network) {
  std::vector<int> hosts(static_cast<std::size_t>(network.hosts()));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

std::vector<int> deal_racks(const Network& network, unsigned long at_once) {
  std::vector<int> hosts = all_hosts(network), place(hosts.size());
  std::vector<unsigned long> seen(hosts.size());
  for (const int host : hosts) {
    const auto rack = static_cast<std::size_t>(network.rack_of(host));
    place[static_cast<std::size_t>(host)] = static_cast<int>(seen[rack]++ / at_once);
  }
  const auto key = [&](int host) { return std::pair(place[static_cast<std::size_t>(host)], network.rack_of(host)); };
  std::stable_sort(hosts.begin(), hosts.end(), [&](int a, int b) { return key(a) < key(b); });
  return hosts;
}

/// Fisher and Yates's shuffle, of which std::shuffle leaves open what it draws.
std::vector<int> shuffle(const Network& network, unsigned long seed) {
  std::vector<int> hosts = all_hosts(network);
  std::mt19937_64 dice(seed);
  for (std::size_t left = hosts.size(); left > 1; --left) std::swap(hosts[left - 1], hosts[dice() % left]);
  return hosts;
}

unsigned long parse_number(std::string_view how, unsigned long least) {
  const auto number = espalier::parse_number<unsigned long>(how.substr(how.find(':') + 1));
  if (number && *number >= least) return *number;
  throw Error("'" + std::string(how) + "': write a whole number of " + std::to_string(least) + " or more at its end");
}

}  // namespace

std::vector<int> place_nodes(const Network& network, std::string_view how, int nodes) {
  if (nodes > network.hosts())
    throw Error("the network has " + std::to_string(network.hosts()) + " hosts, fewer than the " +
                std::to_string(nodes) + " nodes: choose a larger one");
  const auto count = static_cast<std::size_t>(nodes);
  std::vector<int> hosts;
  if (how == "block") {
    hosts = all_hosts(network);
  } else if (how.starts_with("racks:")) {
    hosts = deal_racks(network, parse_number(how, 1));
  } else if (how.starts_with("random:") || how.starts_with("scattered:")) {
    hosts = shuffle(network, parse_number(how, 0));
  } else {
    throw Error("unknown placement '" + std::string(how) + "': one of block, racks:K, random:SEED, scattered:SEED");
  }
  hosts.resize(count);
  if (how.starts_with("scattered:")) std::sort(hosts.begin(), hosts.end());
  return hosts;
}

std::vector<int> check_hosts(const Network& network, std::vector<int> host_of_node, int nodes) {
  if (host_of_node.empty()) return place_nodes(network, "block", nodes);
  if (host_of_node.size() != static_cast<std::size_t>(nodes))
    throw Error(std::to_string(host_of_node.size()) + " hosts are named for " + std::to_string(nodes) + " nodes");
  for (const int host : host_of_node)
    if (host < 0 || host >= network.hosts())
      throw Error("host " + std::to_string(host) + " is not in the network, which has " +
                  std::to_string(network.hosts()) + ": choose a larger one");
  if (std::set(host_of_node.begin(), host_of_node.end()).size() != host_of_node.size())
    throw Error("two nodes cannot be one host");
  return host_of_node;
}

Distances derive_distances(const Network& network, std::span<const int> host_of_node, std::string_view metric) {
  if (metric == "none") return {};
  const bool has_latency = metric != "speed", has_speed = metric != "latency";
  if (has_latency && has_speed && metric != "combined")
    throw Error("unknown metric '" + std::string(metric) + "': one of none, latency, speed, combined");
  const Distances all = network.distances(host_of_node);
  std::vector<Way> ways = all.ways();
  for (Way& way : ways) way = {has_latency ? way.latency : 0, has_speed ? way.per_byte : 0};
  const Distances known = Distances::from_classes(all.class_of(), std::move(ways));
  return has_speed ? known.with_trunks(all.trunks()).with_cables(all.cables()) : known;
}

}  // namespace espalier::simulate
