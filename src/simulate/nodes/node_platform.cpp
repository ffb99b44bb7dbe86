#include "simulate/nodes/node_platform.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "machine/node.hpp"

namespace espalier::simulate {
namespace {

using nlohmann::json;

constexpr double nanosecond = 1e-3, gigabyte = 1000;  // in microseconds, and per microsecond

[[noreturn]] void refuse(const std::string& what) { throw Error("node platform: " + what); }

double read_number(const json& from, const char* name, double unit) {
  if (!from.contains(name)) refuse(std::string("'") + name + "' is missing");
  const double value = from.at(name).get<double>();
  if (!std::isfinite(value) || value <= 0) refuse(std::string("'") + name + "' must be more than 0");
  return value * unit;
}

void read_caches(const json& from, NodePlatform& platform) {
  for (const json& it : from.at("caches"))
    platform.caches.push_back({it.at("cores").get<int>(), it.at("numa").get<int>(), it.at("socket").get<int>()});
  if (platform.caches.empty()) refuse("no caches");
  NodePlatform::Cache before{1, 0, 0};
  for (std::size_t i = 0; i < platform.caches.size(); ++i) {
    const NodePlatform::Cache& it = platform.caches[i];
    const bool goes_on = it.numa == before.numa ? it.socket == before.socket
                                                : it.numa == before.numa + 1 && it.socket - before.socket <= 1;
    if (it.cores < 1 || !goes_on || it.socket < before.socket)
      refuse("caches must follow each other domain by domain, socket by socket, each with cores");
    platform.cache_of_core.insert(platform.cache_of_core.end(), static_cast<std::size_t>(it.cores),
                                  static_cast<int>(i));
    before = it;
  }
}

void read_handover(const json& from, NodePlatform& platform) {
  platform.handover = from.at("handover_ns").get<std::vector<std::vector<double>>>();
  const std::size_t count = platform.caches.size();
  if (platform.handover.size() != count) refuse("handover_ns must have a row for each cache");
  for (std::vector<double>& row : platform.handover) {
    if (row.size() != count) refuse("handover_ns must have a column for each cache");
    for (double& time : row) {
      if (!std::isfinite(time) || time <= 0) refuse("handover_ns must be more than 0");
      time *= nanosecond;
    }
  }
}

void read_cards(const json& from, NodePlatform& platform) {
  for (const json& it : from.value("cards", json::array())) {
    const double share = it.value("far_share", 1.0);
    if (!(share > 0 && share <= 1)) refuse("a card's far_share is a part of 1");
    platform.cards.push_back({it.at("numa").get<int>(), read_number(it, "rate_gb", gigabyte), share});
    const int numa = platform.cards.back().numa;
    if (numa < 0 || numa >= platform.numas()) refuse("a card hangs off a domain that there is not");
  }
}

NodePlatform read_platform(const json& from) {
  NodePlatform platform;
  platform.name = from.at("name").get<std::string>();
  platform.what = from.value("what", platform.name);
  read_caches(from, platform);
  read_handover(from, platform);
  platform.memory_latency = read_number(from, "memory_latency_ns", nanosecond);
  platform.service = read_number(from, "service_ns", nanosecond);
  platform.lines = read_number(from, "lines", 1);
  platform.private_bytes = read_number(from, "private_kib", 1024);
  platform.cache_bytes = read_number(from, "cache_kib", 1024);
  platform.cache_rate = read_number(from, "cache_gb", gigabyte);
  platform.port_in = read_number(from, "port_in_gb", gigabyte);
  platform.port_out = read_number(from, "port_out_gb", gigabyte);
  platform.socket_rate = read_number(from, "socket_gb", gigabyte);
  platform.memory_rate = read_number(from, "memory_gb", gigabyte);
  read_cards(from, platform);
  return platform;
}

}  // namespace

NodePlatform parse_node_platform(std::string_view text) {
  try {
    return read_platform(json::parse(text));
  } catch (const json::exception& error) {
    refuse(error.what());
  }
}

std::vector<int> place_on_cores(const NodePlatform& platform, std::string_view how, int ranks) {
  if (ranks > platform.cores())
    throw Error(std::to_string(ranks) + " ranks on " + std::to_string(platform.cores()) + " cores of " + platform.name);
  if (how != "packed" && how != "spread") throw Error("cores: packed or spread, not '" + std::string(how) + "'");
  std::vector<int> cores;
  for (int r = 0; r < ranks; ++r) cores.push_back(how == "packed" ? r : r * platform.cores() / ranks);
  return cores;
}

machine::RankFacts facts_of_core(const NodePlatform& platform, int core) {
  const NodePlatform::Cache& cache = platform.cache_of(core);
  int first = core;
  while (first > 0 && platform.cache_of_core[static_cast<std::size_t>(first - 1)] ==
                          platform.cache_of_core[static_cast<std::size_t>(core)])
    --first;
  machine::RankFacts facts;
  facts.numa = static_cast<std::int16_t>(cache.numa);
  facts.l3 = static_cast<std::int16_t>(first);
  facts.numa_nodes = static_cast<std::uint8_t>(platform.numas());
  facts.binding = machine::Binding::bound;
  if (platform.cards.empty()) return facts;
  facts.nics_key = 1;
  facts.nics = static_cast<std::uint8_t>(std::min<std::size_t>(platform.cards.size(), machine::most_nics));
  for (std::size_t i = 0; i < facts.nics; ++i) {
    const NodePlatform::Card& card = platform.cards[i];
    facts.mbits = std::max(facts.mbits, static_cast<std::uint32_t>(card.rate * 8));
    facts.distance[i] = card.numa == cache.numa ? machine::local_distance : 2 * machine::local_distance;
    facts.nic_numa[i] = static_cast<std::int16_t>(card.numa);
  }
  return facts;
}

}  // namespace espalier::simulate
