#pragma once
// How long a tree takes on the network in a given order of nodes: for choosing between orders of one tree, not between
// trees.

#include <compare>
#include <span>
#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

/// Prices orders of one layout. A node sends to its children one after the other; each message takes the node's own
/// link for bytes / (its best rate) and arrives after latency + bytes / (the way's rate). A pipeline takes what one
/// segment takes through the tree, then for each further segment what the busiest node needs for one. A ring of N takes
/// the sum of its latencies and N - 1 times the slowest of its messages. Not modelled: links that several ways share,
/// and memory. `distances` outlives it.
class Reach {
 public:
  Reach(const topology::Distances& distances, const Layout& layout, int count);

  /// Microseconds until the last node has everything, and as a second opinion the sum over all nodes: of two orders
  /// that end together the one that serves most nodes earlier has more room for improvement.
  struct Price {
    double last = 0;
    double sum = 0;
    auto operator<=>(const Price&) const = default;
  };
  /// `order[p]` is the node at position p, all nodes once. Zeros when nothing is known of the network. O(nodes).
  Price of(std::span<const int> order) const;
  /// What comes on top where the root of a scatter or gather packs: in any other than the natural order. Apart, because
  /// it is a step that no search by small changes climbs. O(nodes).
  double packing(std::span<const int> order) const;

 private:
  struct Edge {
    int parent;
    int child;
    double bytes;
  };

  Price tree(std::span<const int> order) const;
  double ring(std::span<const int> order) const;
  double own_link(int node, double bytes) const;

  const topology::Distances& distances_;
  Layout layout_;
  double segments_;
  std::vector<Edge> edges_;           ///< parents' own first, then in the order in which they are served
  std::vector<double> own_per_byte_;  ///< by class: at its best rate to anybody
};

}  // namespace espalier::trees
