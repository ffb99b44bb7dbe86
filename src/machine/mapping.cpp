#include "machine/mapping.hpp"

#include <array>
#include <string>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

constexpr std::array<std::string_view, 4> names = {"packed", "scattered", "unbound", "half"};

CpuSet single(int cpu) {
  CpuSet set;
  set.add(cpu);
  return set;
}

// Processors of the NUMA nodes from `first` on, one NUMA node after the other.
std::vector<int> in_order(const Node& node, std::size_t first) {
  std::vector<int> order;
  for (std::size_t n = first; n < node.numa_nodes.size(); ++n)
    for (const int cpu : node.numa_nodes[n].cpus.list()) order.push_back(cpu);
  return order;
}

}  // namespace

std::span<const std::string_view> mapping_names() { return names; }

Mapping parse_mapping(std::string_view text) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) return static_cast<Mapping>(i);
  throw Error("\"" + std::string(text) + "\" is no mapping: packed, scattered, unbound or half");
}

CpuSet derive_binding(const Node& node, Mapping mapping, int index) {
  const std::size_t i = static_cast<std::size_t>(index), nodes = node.numa_nodes.size();
  if (mapping == Mapping::unbound) return node.cpus;
  if (mapping == Mapping::scattered) {
    const std::vector<int> cpus = node.numa_nodes[i % nodes].cpus.list();
    return single(cpus[i / nodes % cpus.size()]);
  }
  const std::vector<int> order = in_order(node, mapping == Mapping::half ? nodes / 2 : 0);
  return single(order[i % order.size()]);
}

}  // namespace espalier::machine
