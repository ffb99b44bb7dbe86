#pragma once
// Which ranks of one node speak on the network: those near the NIC in use (Goglin and Moreaud 2011, section 3.2).

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "machine/rank_facts.hpp"
#include "plan/choice.hpp"

namespace espalier::leaders {

using Policy = plan::Leaders;

/// Throws Error naming the text and the policies there are.
Policy parse_policy(std::string_view text);

struct Request {
  Policy policy = Policy::near;
  /// How many leaders; a node with fewer ranks has fewer.
  int count = 1;
  /// Topology's Capabilities::turn. Among equals it decides who: communicators and groups wear out different cores.
  int turn = 0;
};

struct Leader {
  LocalRank rank;
  /// Index of the NIC it uses, counted over the node's NICs in use: its rail. -1 when no NIC is known.
  int nic = -1;

  bool operator==(const Leader&) const = default;
};

struct Election {
  std::vector<Leader> leaders;  ///< at least one, all different; leader k belongs to group k
  std::string_view reason;      ///< one clause for people
  bool is_natural = false;      ///< nearness had no say: local ranks 0, 1, …
};

/// Leader k takes the k-th NIC: those that some rank is nearest to come first, `turn` says which of them begins, the
/// farther ones follow. So a whole node uses all its cards, half of one its own, and rails have the same leaders on all
/// nodes where ranks sit alike. It is the rank not yet taken that is best by policy; equals are told apart by least
/// used L3 group, then by `turn`. Ranks that are not bound come behind those that are: they may be anywhere, and
/// elsewhere a moment later.
///
/// Where facts say nothing, or not the same for all ranks of the node (a container hides PCI from some), or nothing
/// that could matter (one NUMA node, all ranks equally far), the election is natural and the reason says why.
///
/// `facts` of all ranks of the node in the order of local ranks, or none; `ranks` >= 1 of them; request.count >= 1.
/// O(ranks x count). A pure function: all ranks of a communicator come to the same result.
Election elect(std::span<const machine::RankFacts> facts, int ranks, const Request& request);

/// The NIC nearest to a rank, the first of equals; -1 when none is known.
int nearest_nic(const machine::RankFacts& facts);

}  // namespace espalier::leaders
