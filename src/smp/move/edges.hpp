#pragma once
// What goes along the edges of a graph between ranks of one node: the node's half of a neighbourhood collective.

#include <vector>

#include "plan/builder.hpp"
#include "smp/operations.hpp"

namespace espalier::smp {

/// Where in its writer's cell a part lies: equal parts, on cache lines where they are that long.
struct Part {
  Bytes begin;
  Bytes bytes;
};
Part part_of(const Cells& cells, const plan::Edge& edge);

/// Called by every rank of the node that has edges; emits the caller's part. Of the caller's edges those between ranks
/// of this node, itself included, are served; others are left alone.
///
/// Through cells in rounds: in each a rank puts the next stretch of all that it sends, side by side into the parts of
/// one cell, says so (Pair_sync), and takes the next stretch of all that it gets. A rank knows the lengths of its own
/// edges only, and so does not know how many rounds others have: an edge is done when its own bytes are, and who writes
/// a cell again waits only for readers of edges that still go on. Round k of a rank needs its writers' round k and its
/// readers' round k - cells, so that the rank with the earliest round can always go on. Under single copy everyone
/// pulls, and stays until its readers have.
class EdgeExchange {
 public:
  EdgeExchange(plan::Builder& builder, const plan::Choice& choice, const std::vector<plan::Edge>& edges);

  void run();

 private:
  int rounds_of(const plan::Edge& edge) const;
  bool has_round(const plan::Edge& edge, int round) const { return round < rounds_of(edge); }
  Range stretch_of(const plan::Edge& edge, int round, plan::Buffer buffer, Bytes begin) const;
  void through_cells();
  void put_round(int round);
  void get_round(int round);
  void by_single_copy();
  void copy_own();

  plan::Builder& builder_;
  Cells cells_;
  bool is_single_copy_;
  std::vector<plan::Edge> out_, in_, own_;  ///< those that have bytes
};

}  // namespace espalier::smp
