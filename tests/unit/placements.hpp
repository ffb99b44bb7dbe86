#pragma once
// Placements every collective is tested on: irregular ones are the normal case.

#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace espalier::testing {

struct Placement {
  std::string name;
  std::vector<int> node_of;
};

/// One node, one rank per node, blocks, cyclic, unequal and shuffled mappings; 1 to 13 ranks.
inline const std::vector<Placement>& placements() {
  static const std::vector<Placement> all = {
      {"one_rank", {0}},
      {"one_node_of_2", {0, 0}},
      {"one_node_of_5", {0, 0, 0, 0, 0}},
      {"two_single_ranks", {0, 1}},
      {"seven_single_ranks", {0, 1, 2, 3, 4, 5, 6}},
      {"blocks_of_4", {0, 0, 0, 0, 1, 1, 1, 1}},
      {"three_one_four", {0, 0, 0, 1, 2, 2, 2, 2}},
      {"cyclic_3", {0, 1, 2, 0, 1, 2, 0, 1}},
      {"shuffled_13_on_5", {3, 0, 2, 2, 1, 0, 4, 3, 0, 4, 2, 0, 3}},
  };
  return all;
}

/// How ranks are dealt to nodes; uneven: in blocks, of which the first lacks a rank.
enum class Mapping { blocks, cyclic, uneven };

/// As many nodes as a test wants, whose ranks may read each other's buffers.
inline topology::Topology place(int nodes, int on_node, Mapping mapping = Mapping::blocks) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(mapping == Mapping::cyclic ? r % nodes : r / on_node);
  if (mapping == Mapping::uneven) node_of.erase(node_of.begin() + 1);
  return topology::Topology::from_nodes(node_of, {.single_copy = true});
}

}  // namespace espalier::testing
