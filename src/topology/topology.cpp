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
  std::unordered_map<int, int> number_of_label;
  std::vector<int> size;
  for (const int label : node_of) {
    const auto [entry, is_new] = number_of_label.try_emplace(label, static_cast<int>(size.size()));
    if (is_new) size.push_back(0);
    t.node_of_.push_back(entry->second);
    t.local_rank_.push_back(size[static_cast<std::size_t>(entry->second)]++);
  }
  t.network_ = size.size() == 1 ? no_network : std::make_shared<const Network>();
  t.node_begin_.push_back(0);
  for (const int s : size) t.node_begin_.push_back(t.node_begin_.back() + s);
  const auto [smallest, largest] = std::minmax_element(size.begin(), size.end());
  t.smallest_node_ = *smallest;
  t.largest_node_ = *largest;
  t.by_node_.resize(node_of.size());
  for (int r = 0; r < t.ranks(); ++r) {
    const int place = t.ranks_before(t.node_of(Rank(r))) + t.local_rank(Rank(r)).value;
    t.by_node_[static_cast<std::size_t>(place)] = Rank(r);
  }
  if (!facts.empty())
    for (const Rank rank : t.by_node_) t.facts_.push_back(facts[index(rank)]);
  t.is_blocked_ = std::is_sorted(t.by_node_.begin(), t.by_node_.end());
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
