#pragma once
// Communicators on machines of tests/snapshots.

#include <string>
#include <vector>

#include "machine/mapping.hpp"
#include "machine/rank_facts.hpp"
#include "machine/readers.hpp"
#include "topology/topology.hpp"

namespace espalier::testing {

inline machine::Node snapshot(const std::string& name) {
  return machine::probe_snapshot(ESPALIER_SNAPSHOTS "/machines/" + name + ".xml");
}

/// Facts of the ranks of one node that is filled like this.
inline std::vector<machine::RankFacts> facts_of(const machine::Node& node, machine::Mapping mapping, int ranks) {
  const machine::NicsInUse use = machine::derive_nics_in_use(node, {});
  std::vector<machine::RankFacts> facts;
  for (int i = 0; i < ranks; ++i)
    facts.push_back(machine::derive_rank_facts(node, use, machine::derive_binding(node, mapping, i)));
  return facts;
}

/// Several equal nodes, ranks in blocks.
inline topology::Topology cluster(const machine::Node& node, machine::Mapping mapping, int ranks_per_node, int nodes,
                                  int turn = 0) {
  const std::vector<machine::RankFacts> of_one = facts_of(node, mapping, ranks_per_node);
  std::vector<machine::RankFacts> facts;
  std::vector<int> node_of;
  for (int n = 0; n < nodes; ++n) {
    facts.insert(facts.end(), of_one.begin(), of_one.end());
    node_of.insert(node_of.end(), static_cast<std::size_t>(ranks_per_node), n);
  }
  topology::Capabilities capabilities;
  capabilities.turn = turn;
  return topology::Topology::from_nodes(node_of, capabilities, facts);
}

/// The paper's figure 3: four ranks per node here too, on four nodes; the card is near the second of them.
inline topology::Topology figure_3() { return cluster(snapshot("opteron-4s"), machine::Mapping::scattered, 4, 4); }

}  // namespace espalier::testing
