#pragma once
// What allgathers by groups of masters take.

#include "algorithms/prices/scene.hpp"

namespace espalier::algorithms {

/// The masters of one node, and what each of its groups brings.
struct GroupsOfNode {
  /// `groups` of them. In place: what they exchange lies where it belongs, whatever the choice says.
  GroupsOfNode(const Scene& scene, int groups, bool is_in_place = false);

  int count;        ///< of masters
  double share;     ///< bytes of a node in one group
  double blocks;    ///< of so many ranks
  bool is_staged;   ///< masters exchange copies
  double run;       ///< bytes that are one run in the result
  double messages;  ///< that a share is sent as

  double message() const { return share / messages; }
};

/// Microseconds on several nodes: in the paper's form, and in the leaner one.
double price_groups(const Scene& scene, const GroupsOfNode& groups, plan::Exchange exchange);
double price_lean_groups(const Scene& scene, const GroupsOfNode& groups);

}  // namespace espalier::algorithms
