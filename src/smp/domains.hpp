#pragma once
// The second level inside a node: ranks near each other, and who hands data on from one such set to the next.

#include <span>
#include <vector>

#include "plan/builder.hpp"

namespace espalier::smp {

/// The ranks of one node by locality: a domain is the ranks on one NUMA node or, where all are on the same, those on
/// one last-level cache.
class Domains {
 public:
  /// From Topology::facts_on. One domain of all ranks when the place of any is unknown.
  Domains(const topology::Topology& topology, NodeId node);
  /// The ranks on one last-level cache, whatever their NUMA node; of NUMA nodes where caches are not known.
  static Domains of_caches(const topology::Topology& topology, NodeId node);
  /// The same, but for domains of more than 8 ranks, which are cut into equal parts: so that nobody waits for more, and
  /// no line has more readers, than so many inside and one of each part outside.
  Domains in_parts() const;
  /// All ranks in one.
  static Domains one(int ranks) { return Domains(std::vector<int>(static_cast<std::size_t>(ranks))); }

  int count() const { return static_cast<int>(members_.size()); }
  int of(LocalRank rank) const { return domain_of_[static_cast<std::size_t>(rank.value)]; }
  /// Each holds consecutive ranks.
  bool are_consecutive() const;
  /// Ascending. Domains are numbered by their first members.
  std::span<const LocalRank> members(int domain) const { return members_[static_cast<std::size_t>(domain)]; }

 private:
  /// Equal keys make a domain.
  explicit Domains(const std::vector<int>& keys);

  std::vector<int> domain_of_;
  std::vector<std::vector<LocalRank>> members_;
};

/// Whether so many levels differ from one on some node of the communicator: it has several domains (with two levels),
/// or ranks on several caches (with three), and one of them several ranks. O(ranks).
bool has_levels(const topology::Topology& topology, int levels);

/// One rank's place in the handing out of one rank's data to its node.
///
///     levels=1             levels=2, two domains
///
///      w ─► a b c d e       w ─► a b          w's own domain
///                           └──► c ─► d e     c relays: what crosses between domains crosses once
///
///     levels=3
///
///      w ─► a b             w's own cache
///      ├──► c ─► d          the caches of a NUMA node are a binary tree, and so are the NUMA nodes: a cache's way out
///      │    └──► e ─► f     serves two others, whatever their number
///      └──► g ─► h
struct Hop {
  /// Whose data this rank reads; -1 at the writer.
  LocalRank from{-1};
  /// How many ranks read from there.
  int siblings = 0;
  /// Who reads from this rank, those with readers of their own first: theirs is the longer way.
  std::vector<LocalRank> readers;
};

/// `levels` is the choice's: 1, or 2 for a relay in each domain but the writer's, which is its lowest rank; 3 for one
/// on each cache.
Hop derive_hop(const plan::Builder& builder, int levels, LocalRank writer);

/// Waits until all ranks that read from this one have posted `flag` up to `tick`.
void await_readers(plan::Builder& builder, const Hop& hop, plan::Flag flag, std::uint64_t tick);

}  // namespace espalier::smp
