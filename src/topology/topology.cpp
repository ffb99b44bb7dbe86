#include "topology/topology.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"

namespace espalier::topology {

Topology Topology::from_nodes(std::span<const int> node_of, Capabilities capabilities,
                              std::span<const machine::RankFacts> facts) {
  if (node_of.empty()) throw Error("a topology needs at least one rank");
  if (!facts.empty() && facts.size() != node_of.size())
    throw Error("facts of " + std::to_string(facts.size()) + " ranks, but there are " + std::to_string(node_of.size()));
  // All one node has is itself: thousands of communicators share that.
  static const auto no_network = std::make_shared<const Network>();
  Topology t;
  t.capabilities_ = capabilities;
  t.placement_ = std::make_shared<const Placement>(place(node_of, facts));
  t.network_ = t.nodes() == 1 ? no_network : std::make_shared<const Network>();
  return t;
}

Topology::Placement Topology::place(std::span<const int> node_of, std::span<const machine::RankFacts> facts) {
  Placement p;
  std::unordered_map<int, int> number_of_label;
  std::vector<int> size;
  for (const int label : node_of) {
    const auto [entry, is_new] = number_of_label.try_emplace(label, static_cast<int>(size.size()));
    if (is_new) size.push_back(0);
    p.node_of.push_back(entry->second);
    p.local_rank.push_back(size[static_cast<std::size_t>(entry->second)]++);
  }
  p.node_begin.push_back(0);
  for (const int s : size) p.node_begin.push_back(p.node_begin.back() + s);
  const auto [smallest, largest] = std::minmax_element(size.begin(), size.end());
  p.smallest_node = *smallest;
  p.largest_node = *largest;
  p.by_node.resize(node_of.size());
  for (std::size_t r = 0; r < node_of.size(); ++r) {
    const int at = p.node_begin[static_cast<std::size_t>(p.node_of[r])] + p.local_rank[r];
    p.by_node[static_cast<std::size_t>(at)] = Rank(static_cast<int>(r));
  }
  if (!facts.empty())
    for (const Rank rank : p.by_node) p.facts.push_back(facts[index(rank)]);
  p.is_blocked = std::is_sorted(p.by_node.begin(), p.by_node.end());
  return p;
}

Topology Topology::sharing(const Topology& known) const {
  Topology t = *this;
  if (*placement_ != *known.placement_) return t;
  t.placement_ = known.placement_;
  if (network_->distances == known.network_->distances) t.network_ = known.network_;
  return t;
}

Topology Topology::with_distances(Distances distances) const {
  if (distances.classes() > 0 && distances.nodes() != nodes())
    throw Error("distances of " + std::to_string(distances.nodes()) + " nodes for " + std::to_string(nodes()));
  Topology t = *this;
  auto network = std::make_shared<Network>();
  network->distances = std::move(distances);
  t.network_ = std::move(network);
  return t;
}

}  // namespace espalier::topology
