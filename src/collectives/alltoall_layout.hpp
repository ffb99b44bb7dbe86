#pragma once
// Sizes and places of an all-to-all between leaders that all ranks of a node work out alike.

#include <span>
#include <vector>

#include "collectives/masters.hpp"
#include "plan/blocks.hpp"
#include "plan/choice.hpp"
#include "topology/topology.hpp"

namespace espalier::collectives {

/// How many batches the other nodes are dealt into so that what a rank's cells must hold at once fits them: one when
/// all of it does, else as many as make each fit half of the cells; 0 when no number does. Every rank finds the same.
/// O(log nodes), with counts O(ranks²) for each number tried.
int count_batches(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

/// Whether leaders lay a message out by target, and not by source as they fetch it: then a target takes one stretch of
/// each message and not a block of every source. The leader copies each block once more for that, which pays between
/// many nodes where leaders are many and blocks equal (512 ranks, 64 bytes: 153 us, by target 97; simulated).
bool lays_by_target(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

/// How many consecutive nodes leaders bundle: they fetch what a neighbour has for all of them as one stretch of its
/// cells, and lay out what comes from all of them so that each target takes one stretch of it. Both cost copies within
/// a leader's cache instead of reads of another's, and the first message leaves later: for short blocks that are laid
/// out by target (512 ranks, 4 bytes: 47 us, in bundles of four 34; played). A power of two up to 8, such that every
/// leader has two bundles at least; 1: no bundles.
int bundled_nodes(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

/// Whether leaders pass each other's parcels on (Exchange::bruck), and do not send each to where it wants to go.
bool goes_by_relays(const plan::Choice& choice);

/// The other nodes of a node are numbered by how far they are to its right, in an order that spreads the partners of
/// consecutive numbers over the network (groups/distances.hpp), batch by batch:
///
///     distances  1 … 8 | 9 … 16 | 17 … 24 | …       of 2 batches runs 1, 3, 5, … are the first, runs 2, 4, … the
///     second
///
/// In runs, because blocks for consecutive nodes are one run of a caller's input. What a node has for the one of a
/// number goes from and to the leaders of the same group. Relays take numbers by ascending distance. Numbers of
/// consecutive distances that are bundled follow each other and have one leader.
class AlltoallLayout {
 public:
  /// What one rank's cells hold of a batch, and where: its blocks, node by node, for those of the batch that others
  /// send for, in the first batch for its own node as well; then what comes for it.
  struct Places {
    std::vector<Bytes> own;       ///< by number, from the batch's first on: where the blocks for that node begin
    std::vector<Bytes> incoming;  ///< where what comes of that number begins, group by group, if the rank leads it
    Bytes on_node = 0;            ///< where the blocks for its own node begin
    Bytes end = 0;
  };
  /// Stands for the own node among numbers.
  static constexpr int here = -1;
  /// Numbers that are fetched and taken together.
  struct Bundle {
    int first = 0;
    int count = 0;
    int group = 0;
  };

  /// The arguments must outlive it.
  AlltoallLayout(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice,
                 int batches);

  /// The most numbers in one bundle.
  int bundled() const { return bundled_; }
  /// What one rank has for the nodes of one, or gets from them, at most; where blocks are equal.
  Bytes most_bundled() const {
    return block() * static_cast<Bytes>(bundled_) * static_cast<Bytes>(topology_.largest_node());
  }

  const plan::PairBlocks& blocks() const { return blocks_; }
  int batches() const { return static_cast<int>(first_.size()) - 1; }
  /// The first number of a batch; of the one behind the last: how many numbers there are.
  int first(int batch) const { return first_[static_cast<std::size_t>(batch)]; }
  int distance(int number) const { return distances_[static_cast<std::size_t>(number)]; }
  int right_by(int node, int distance) const { return (node + distance) % topology_.nodes(); }
  int left_by(int node, int distance) const { return (node - distance + topology_.nodes()) % topology_.nodes(); }
  int right(int node, int number) const { return number == here ? node : right_by(node, distance(number)); }
  int left(int node, int number) const { return left_by(node, distance(number)); }

  std::span<const Rank> ranks_on(int node) const { return topology_.ranks_on(NodeId(node)); }
  Rank leader_of(int node, int number) const { return masters_.of(node, group_of(number)); }
  bool leads(Rank rank, int number) const {
    return number != here && leader_of(topology_.node_of(rank).value, number) == rank;
  }

  /// The groups that a rank leads, ascending, and what of a batch one of them has to do with.
  std::vector<int> groups_of(Rank rank) const { return masters_.groups_of(rank); }
  std::vector<int> numbers_of(int group, int batch) const;
  int groups() const { return masters_.groups(); }
  int group_of(int number) const { return bundle_of(number).group; }
  const Bundle& bundle_of(int number) const {
    return bundles_[static_cast<std::size_t>(bundle_at_[static_cast<std::size_t>(number)])];
  }
  /// A batch's; those of consecutive groups follow each other.
  std::span<const Bundle> bundles(int batch) const;
  /// The numbers of a bundle in the ascending order of the nodes to this node's left.
  std::vector<int> by_source(int node, const Bundle& bundle) const;

  /// Where all are equal.
  Bytes block() const { return problem_.bytes; }
  Bytes bytes_to_node(Rank from, int node) const;
  Bytes message(int from, int to) const;
  /// Where among a rank's blocks for its node the one of `to` begins.
  Bytes begin_on_node(Rank from, Rank to) const;
  Places places(Rank rank, int batch) const;
  /// The numbers of a batch in the ascending order of the nodes on this node's right, and in the first batch itself.
  std::vector<int> ascending(int node, int batch) const;

 private:
  void bundle(int batches);

  const topology::Topology& topology_;
  const plan::Problem& problem_;
  plan::PairBlocks blocks_;
  Masters masters_;
  int bundled_;
  std::vector<int> distances_;  ///< by number
  std::vector<int> first_;
  std::vector<Bundle> bundles_;
  std::vector<int> bundle_at_;     ///< by number
  std::vector<int> first_bundle_;  ///< by batch
};

}  // namespace espalier::collectives
