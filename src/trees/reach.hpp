#pragma once
// How long a tree takes on the network in a given order of nodes: for choosing between orders of one tree, not between
// trees.

#include <compare>
#include <span>
#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

/// Prices orders of one layout. A node starts the messages to all its children one after the other; from then on they
/// share its own link, near ones with the larger parts (as connections with windows do). A message arrives after
/// latency + bytes / (the way's rate), or when the link is through with it, whichever is later. Long ones of which only
/// one is under way (most_to_children) have the link to themselves in turn. Messages between leaf
/// switches share the cables that lead up from the one leaf and down to the other (topology::Trunks): each waits for
/// what is on its way there already, and for those that its own node sends over them. What goes up (gather, reduce) is
/// priced in reversed time: a node hears from its children one after the other. A pipeline takes what one segment takes
/// through the tree, then for each further segment what the busiest node or trunk needs for one. A ring of N takes the
/// sum of its latencies and N - 1 times its slowest message, which meets others on trunks as those of a tree do. Not
/// modelled: which cable of a trunk a route takes, cables above the leaves' own, and memory. `distances` outlives it.
class Reach {
 public:
  /// `branches` are the layout's, by position.
  Reach(const topology::Distances& distances, const Layout& layout, std::span<const Branch> branches);

  /// Microseconds until the last node has everything, and as a second opinion the sum over all nodes: of two orders
  /// that end together the one that serves most nodes earlier has more room for improvement.
  struct Price {
    double last = 0;
    double sum = 0;
    auto operator<=>(const Price&) const = default;
  };
  /// `order[p]` is the node at position p, all nodes once. Zeros when nothing is known of the network. O(nodes), with
  /// trunks O(nodes log nodes).
  Price of(std::span<const int> order) const;
  /// What comes on top where the root of a scatter or gather packs: in any other than the natural order. Apart, because
  /// it is a step that no search by small changes climbs. O(nodes).
  double packing(std::span<const int> order) const;

 private:
  struct Edge {
    std::size_t child;
    double bytes;
  };
  class Walk;
  class Round;

  Price tree(std::span<const int> order) const;
  double ring(std::span<const int> order) const;

  const topology::Distances& distances_;
  Layout layout_;
  double segments_;
  bool has_trunks_;              ///< some are known, so that messages meet on them
  std::vector<Edge> edges_;      ///< parents' own first, then in the order in which they are served
  std::vector<int> first_edge_;  ///< by position, and one more: where the edges to its children begin
};

}  // namespace espalier::trees
