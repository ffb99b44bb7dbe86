#pragma once
// A tree's messages, played in time on the cables that their routes take: for choosing between orders where routes are
// known. reach.hpp is for where they are not, and for searches, which ask thousands of times.

#include <span>
#include <vector>

#include "flows/fluid.hpp"
#include "topology/distances.hpp"
#include "trees/layout.hpp"

namespace espalier::trees {

/// Plays orders of one layout as its plan would run with one rank per node: who sends what to whom and when, and every
/// link's rate shared fairly among the messages that cross it (flows/fluid.hpp). Of a long pipeline the first segments
/// are played and the others follow at the pace found. Pure and deterministic. `distances`, which have cables, outlives
/// it.
class Rehearsal {
 public:
  /// `branches` are the layout's, by position.
  Rehearsal(const topology::Distances& distances, const Layout& layout, std::span<const Branch> branches);

  /// Microseconds until the last node has everything (upwards: the root), when so much of each cable between switches
  /// is left to us by others. `order[p]` is the node at position p. Some microseconds of time per message.
  double of(std::span<const int> order, double share = 1) const;

 private:
  struct Edge {
    int parent, child;
    double bytes;
  };
  class Stage;
  class Descent;
  class Ascent;
  class Lap;

  double packing(std::span<const int> order, const Edge& edge) const;
  double tree(std::span<const int> order, double share) const;
  double lap(std::span<const int> order, double share, const std::vector<double>& begin) const;
  double copying(double bytes, std::size_t nodes) const;
  double pipeline(std::span<const int> order, double share, int segments) const;

  const topology::Distances& distances_;
  Layout layout_;
  int segments_;
  std::vector<Edge> edges_;       ///< parents' own first, then in the order in which they are served
  std::vector<int> first_edge_;   ///< by position, and one more
  std::vector<int> ends_;         ///< of subtrees, by position
  std::vector<int> parent_edge_;  ///< by position; -1 at the root
};

}  // namespace espalier::trees
