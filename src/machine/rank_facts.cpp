#include "machine/rank_facts.hpp"

#include <algorithm>
#include <limits>

namespace espalier::machine {
namespace {

// 32-bit FNV-1a over names and addresses; 0 is left to "no NIC".
std::uint32_t key_of(const Node& node, const NicsInUse& use) {
  std::uint32_t key = 0x811c'9dc5;
  for (const int i : use.nics) {
    const Nic& nic = node.nics[static_cast<std::size_t>(i)];
    for (const char c : nic.names.front() + '@' + nic.bus + ',')
      key = (key ^ static_cast<unsigned char>(c)) * 0x0100'0193;
  }
  return use.nics.empty() ? 0 : std::max<std::uint32_t>(key, 1);
}

std::uint32_t rate_of(const Node& node, const NicsInUse& use) {
  std::uint64_t most = 0;
  for (const int i : use.nics) most = std::max(most, node.nics[static_cast<std::size_t>(i)].mbits);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, std::numeric_limits<std::uint32_t>::max()));
}

std::int16_t home_of(const Node& node, const Nic& nic) {
  for (const NumaNode& numa : node.numa_nodes)
    if (numa.cpus.intersects(nic.near)) return static_cast<std::int16_t>(numa.os_index);
  return -1;
}

std::int16_t name_of_l3(const Node& node, const CpuSet& cpus) {
  const int group = l3_of(node, cpus);
  if (group < 0) return -1;
  const int first = node.l3_groups[static_cast<std::size_t>(group)].list().front();
  return first <= std::numeric_limits<std::int16_t>::max() ? static_cast<std::int16_t>(first) : std::int16_t{-1};
}

}  // namespace

RankFacts derive_rank_facts(const Node& node, const NicsInUse& use, const CpuSet& cpus) {
  RankFacts facts;
  facts.numa_nodes = static_cast<std::uint8_t>(std::min<std::size_t>(node.numa_nodes.size(), 255));
  facts.nics = static_cast<std::uint8_t>(use.nics.size());
  facts.nics_key = key_of(node, use);
  facts.mbits = rate_of(node, use);
  facts.numa = static_cast<std::int16_t>(numa_of(node, cpus));
  facts.l3 = name_of_l3(node, cpus);
  if (facts.numa >= 0) facts.binding = Binding::bound;
  // Processors this node does not have: the binding belongs to another machine than the facts.
  else if (cpus.intersects(node.cpus))
    facts.binding = Binding::unbound;
  for (std::size_t k = 0; k < use.nics.size(); ++k) {
    const Nic& nic = node.nics[static_cast<std::size_t>(use.nics[k])];
    facts.nic_numa[k] = home_of(node, nic);
    if (facts.numa >= 0) facts.distance[k] = static_cast<std::uint8_t>(distance_to(node, facts.numa, nic));
  }
  return facts;
}

}  // namespace espalier::machine
