#pragma once
// What the built-in choice compares: few enough to estimate all of them whenever a new problem turns up.

#include <set>
#include <vector>

#include "algorithms/algorithm.hpp"
#include "algorithms/candidates/on_node.hpp"
#include "cost/parameters.hpp"

namespace espalier::algorithms {

/// From here on a ring has many more rounds than Bruck's exchange, and so has an exchange one by one. Fewer nodes have
/// been measured, and do without.
inline constexpr int many_nodes = 8;

/// Collects choices for one problem on several nodes. Algorithms propose theirs (Algorithm::propose) out of what is
/// here; each function varies some knobs, and each choice comes with the ways of doing it inside nodes (on_node.hpp).
class Candidates {
 public:
  Candidates(const topology::Topology& topology, const plan::Problem& problem, const cost::Parameters& parameters);

  const topology::Topology& topology() const { return topology_; }
  const plan::Problem& problem() const { return problem_; }
  /// One connection does not fill a link.
  bool are_flows_held() const { return are_flows_held_; }
  bool is_oversubscribed() const { return topology_.capabilities().oversubscribed; }

  /// As it is.
  void add(const plan::Choice& choice) { on_node_.add(choice); }
  /// The same through cells only.
  void add_cells(const plan::Choice& choice) { on_node_.add_cells(choice); }
  /// The same through cells as long as the window allows.
  void add_long_cells(const plan::Choice& choice) { on_node_.add_long_cells(choice); }

  /// As many cells as the window holds, for who lays out whole rounds in them.
  void add_whole_window(const plan::Choice& choice) { on_node_.add_whole_window(choice); }

  /// Whole messages, and segments of 16K, 64K and 256K where there is that much to cut.
  void vary_segment(plan::Choice choice, void (Candidates::*add)(const plan::Choice&) = &Candidates::add);
  /// What groups of masters may vary: directly, by doubling where `doubles`, and round a ring, where segments go on as
  /// they come; elsewhere those only make more messages.
  void vary_exchange(const Algorithm& algorithm, plan::Choice choice, bool doubles);

  /// Groups of masters: one, two, and as many as a node has ranks, up to eight; what lies between is for those who
  /// tune.
  std::set<int> numbers_of_groups() const;
  /// Where a node's ranks do not follow each other, a leader has to put all blocks of all nodes in order. Ranks that
  /// each exchange their own need not (16 nodes x 8 ranks, cyclic, 64K: 891 us for 1541; played). Of short blocks
  /// those are many messages for little copying.
  bool keeps_order() const;

  std::vector<plan::Choice> take() && { return std::move(on_node_).take(); }

 private:
  Bytes longest_message() const;

  const topology::Topology& topology_;
  const plan::Problem& problem_;
  bool are_flows_held_;
  NodeCandidates on_node_;  ///< all there are so far
};

// ---- what algorithms propose (Algorithm::propose) ----

/// The knobs that it has, of these: radix 2 and 4, segments, messages one by one where whoever speaks has the link for
/// itself and nodes are few.
void vary_knobs(Candidates& candidates, const Algorithm& algorithm, plan::Choice choice);

/// Whether data had better go from one last-level cache of a node to the next (levels=3): what the closed forms, which
/// know one distance, cannot tell. On one node whose ranks' places are known; O(ranks).
bool follows_caches(const topology::Topology& topology, const plan::Problem& problem);

/// All of them for one problem: what its algorithms propose on several nodes; on one node those that differ there. In a
/// fixed order, the simplest first; not all are valid (limits.hpp). At most about 100, whatever the number of ranks.
std::vector<plan::Choice> derive_candidates(const topology::Topology& topology, const plan::Problem& problem,
                                            const cost::Parameters& parameters);

}  // namespace espalier::algorithms
