#pragma once
// What scatters and gathers take: the blocks of all other nodes cross the root's link once, however they are bundled.

#include "algorithms/prices/scene.hpp"

namespace espalier::algorithms {

/// Messages in which the blocks of one node travel along a tree, or straight: segments, where there are any.
double messages_of_node(const Scene& scene);

/// Microseconds on the root's link: along a k-nomial tree, to or from each node's leader, to or from each rank.
double wire_of_tree(const Scene& scene);
double wire_of_leaders(const Scene& scene);
double wire_of_ranks(const Scene& scene);

/// Whole scatters by leaders, whose root sends so many messages; and gathers, which go through other leaders or not.
double price_scatter(const Scene& scene, double messages_of_root, double wire);
double price_gather(const Scene& scene, bool is_relayed, double wire);

}  // namespace espalier::algorithms
