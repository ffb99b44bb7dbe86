#pragma once
// Sizes and places of an all-to-all between leaders that all ranks of a node work out alike.

#include <span>
#include <vector>

#include "algorithms/parts/masters.hpp"
#include "plan/blocks.hpp"
#include "plan/choice.hpp"
#include "topology/topology.hpp"

namespace espalier::algorithms {

/// How what the nodes have for each other is divided.
struct AlltoallForm {
  /// What a node has for another is one parcel, or one for each of so many shares of the other's ranks: as many as give
  /// every group a parcel, and more where a parcel would not fit its leader's cells (64 ranks on a node have 4096
  /// blocks for another). Relays pass on whole parcels only.
  int slices = 1;
  /// How many batches parcels are dealt into so that what a rank's cells must hold at once fits them: one when all of
  /// it does, else as many as make each fit half of the cells; 0 when no number does.
  int batches = 0;
  /// How many consecutive nodes leaders bundle: they fetch what a neighbour has for all of them as one stretch of its
  /// cells, and lay out what comes from all of them so that each target takes one stretch of it. Both cost copies
  /// within a leader's cache instead of reads of another's, and the first message leaves later: for short blocks that
  /// are laid out by target (512 ranks, 4 bytes: 47 us, in bundles of four 34; played). A power of two up to 8, such
  /// that every leader has two bundles at least; 1: no bundles.
  int bundled = 1;
  /// Whether leaders lay a message out by target, and not by source as they fetch it: then a target takes one stretch
  /// of each message and not a block of every source. The leader copies each block once more for that, which pays
  /// between many nodes, or where there are slices, if leaders are many and blocks equal (512 ranks, 64 bytes: 153 us,
  /// by target 97; simulated).
  bool is_by_target = false;
};

/// Every rank finds the same. O(log nodes · log ranks), with counts O(ranks²) for each number tried.
AlltoallForm derive_form(const topology::Topology& topology, const plan::Problem& problem, const plan::Choice& choice);

/// Whether leaders pass each other's parcels on (Exchange::bruck), and do not send each to where it wants to go.
bool goes_by_relays(const plan::Choice& choice);

/// The parcels of a node are numbered by how far the nodes that they are for are to its right, in an order that spreads
/// the partners of consecutive numbers over the network (groups/distances.hpp), one slice after the other, batch by
/// batch:
///
///     distances  1 … 8 | 9 … 16 | 17 … 24 | …       of 2 batches runs 1, 3, 5, … are the first, runs 2, 4, … the
///     second
///
/// In runs, because blocks for consecutive nodes are one run of a caller's input; with slices a run is of consecutive
/// slices. The parcels of a number go from and to the leaders of the same group. Relays take numbers by ascending
/// distance. Numbers of consecutive distances that are bundled follow each other and have one leader.
class AlltoallLayout {
 public:
  /// What one rank's cells hold of a batch, and where: its blocks, parcel by parcel, for those of the batch that others
  /// send, and for as great a share of its neighbours; then what comes for it.
  struct Places {
    std::vector<Bytes> own;       ///< by number, from the batch's first on: where the blocks for that parcel begin
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
                 const AlltoallForm& form);

  const AlltoallForm& form() const { return form_; }
  /// The most that one rank has for a bundle's targets, or gets of it times their number; where blocks are equal.
  Bytes most_bundled() const;

  const plan::PairBlocks& blocks() const { return blocks_; }
  int batches() const { return form_.batches; }
  /// The first number of a batch; of the one behind the last: how many numbers there are.
  int first(int batch) const { return first_[static_cast<std::size_t>(batch)]; }
  int distance(int number) const { return parcels_[static_cast<std::size_t>(number)].distance; }
  int slice(int number) const { return parcels_[static_cast<std::size_t>(number)].slice; }
  int right_by(int node, int distance) const { return (node + distance) % topology_.nodes(); }
  int left_by(int node, int distance) const { return (node - distance + topology_.nodes()) % topology_.nodes(); }
  int right(int node, int number) const { return right_by(node, distance(number)); }
  int left(int node, int number) const { return left_by(node, distance(number)); }

  std::span<const Rank> ranks_on(int node) const { return topology_.ranks_on(NodeId(node)); }
  Rank leader_of(int node, int number) const { return masters_.of(node, group_of(number)); }
  bool leads(Rank rank, int number) const {
    return number != here && leader_of(topology_.node_of(rank).value, number) == rank;
  }

  /// The ranks of a node that are in a slice; those that a node's parcel of this number is for, or for `here` those of
  /// the node itself that the batch serves.
  std::span<const Rank> in_slice(int node, int slice) const { return share(node, form_.slices, slice); }
  std::span<const Rank> targets(int node, int number, int batch) const {
    return number == here ? share(node, batches(), batch) : in_slice(right(node, number), slice(number));
  }
  /// The batch that brings a rank what its neighbours have for it.
  int batch_on_node(Rank rank) const;

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

  bool is_equal() const { return problem_.counts.empty(); }
  /// Where all are equal.
  Bytes block() const { return problem_.bytes; }
  /// What a rank, or all of a node, have for these ranks, which follow each other on theirs.
  Bytes bytes_to(Rank from, std::span<const Rank> targets) const;
  Bytes message(int from, std::span<const Rank> targets) const;
  /// Where among a rank's blocks for them the one of `to` begins.
  Bytes begin_of(Rank from, std::span<const Rank> targets, Rank to) const;
  /// The numbers of a batch and `here`, in the ascending order of the targets on this node's right.
  std::vector<int> ascending(int node, int batch) const;
  /// Of all ranks of a node, by local rank.
  std::vector<Places> places(int node, int batch) const;

 private:
  struct Parcel {
    int distance;
    int slice;
  };
  /// What a node has for another, or itself: found once for all its ranks.
  struct Parcels {
    int number;
    Rank leader;  ///< who keeps no blocks for it in its window
    std::span<const Rank> targets;
  };
  static int batch_of(const Parcel& parcel, const AlltoallForm& form);
  static std::vector<Parcel> order_parcels(int nodes, const AlltoallForm& form, bool by_relays);
  std::span<const Rank> share(int node, int shares, int which) const;
  void bundle();
  Places places_of(Rank rank, int batch, std::span<const Parcels> parcels) const;

  const topology::Topology& topology_;
  const plan::Problem& problem_;
  AlltoallForm form_;
  plan::PairBlocks blocks_;
  Masters masters_;
  std::vector<Parcel> parcels_;  ///< by number
  std::vector<int> first_;
  std::vector<Bundle> bundles_;
  std::vector<int> bundle_at_;     ///< by number
  std::vector<int> first_bundle_;  ///< by batch
};

}  // namespace espalier::algorithms
