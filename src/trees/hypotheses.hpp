#pragma once
// What the network may be like: how long an order takes under each guess that what is known leaves open.

#include <span>
#include <vector>

#include "topology/distances.hpp"
#include "trees/layout.hpp"
#include "trees/reach.hpp"
#include "trees/rehearsal.hpp"

namespace espalier::trees {

/// Where routes are known (topology::Cables) an order's messages are rehearsed on their cables: as told, and with half
/// of every cable taken by others. Where they are not, orders are estimated (Reach) under guesses that differ in what
/// nobody has said:
///
///     as told                              leaves' trunks as far as they are known
///     others use half of every trunk       where trunks are known
///     nothing is ever full                 likewise
///     islands are joined by single cables  where latencies tell of islands: nodes nearer to each other than the
///     farthest
///
/// `distances` outlives it.
class Hypotheses {
 public:
  /// `branches` are the layout's, by position.
  Hypotheses(const topology::Distances& distances, const Layout& layout, std::span<const Branch> branches);
  Hypotheses(const Hypotheses&) = delete;
  Hypotheses& operator=(const Hypotheses&) = delete;

  /// Routes are known, so that the first time is what to go by.
  bool is_known() const { return !rehearsals_.empty(); }
  int count() const { return is_known() ? 2 : static_cast<int>(reaches_.size()); }
  /// Microseconds under one of them, from 0: what is known or likeliest first. What packing adds included.
  double time(std::span<const int> order, int number) const;

 private:
  const topology::Distances& told_;
  std::vector<topology::Distances> guesses_;
  std::vector<Reach> reaches_;
  std::vector<Rehearsal> rehearsals_;
};

/// Nodes that are nearer to each other, directly or over others, than the farthest two are: their islands' numbers by
/// node, from 0. All zero where nodes are equally far apart.
std::vector<int> find_islands(const topology::Distances& distances);

}  // namespace espalier::trees
