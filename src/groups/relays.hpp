#pragma once
// How the leaders of an all-to-all exchange what lies ready for every other node: each at once, or by way of others.

#include <span>
#include <vector>

namespace espalier::groups {

/// One message of each leader: what it has for these of the distances, to the node `distance` to its right.
struct Relay {
  int distance = 0;
  std::vector<int> carried;  ///< indices into the distances
  int arriving = 0;          ///< so many of them, the first ones, are where they want to go then; the rest goes on
};

/// Relays that need nothing of each other. What a phase sends has been there at its beginning.
using Phase = std::vector<Relay>;

/// A block that wants to go `d` nodes to the right goes there by the digits of d in base `radix`, the lowest first:
/// digit x of position k takes it x radix^k nodes on (Bruck et al. 1997, section 2). So all blocks that have a digit in
/// common travel together, (radix - 1) log_radix(nodes) messages from each node, not nodes - 1, and each byte up to
/// log_radix(nodes) times. All nodes do the same with the same distances, of which there may be any: a group's share.
///
///     radix 2, distances 1 … 7     phase 0, to node + 1: 1 3 5 7     phase 1, + 2: 2 3 6 7     phase 2, + 4: 4 5 6 7
///
/// Distances are positive and ascend; the radix is 2 or more. O(distances · phases).
std::vector<Phase> derive_relays(std::span<const int> distances, int radix);

/// Each goes straight to where it wants to: one phase of a relay for each distance, in their order.
std::vector<Phase> derive_straight(std::span<const int> distances);

}  // namespace espalier::groups
