#pragma once
// What the masters of groups hold of an allgather, and where.

#include <algorithm>
#include <vector>

#include "algorithms/parts/masters.hpp"
#include "groups/rounds.hpp"
#include "groups/shares.hpp"
#include "plan/builder.hpp"
#include "smp/operations.hpp"
#include "smp/placement.hpp"

namespace espalier::algorithms {

/// A part of a group's data, counted in bytes of the group.
struct GroupStretch {
  Bytes offset = 0;
  Bytes bytes = 0;
};

/// The shares of one group: node by node, one behind the other.
class GroupShares {
 public:
  GroupShares(const topology::Topology& topology, const smp::NodeMajor& order, const Masters& masters, int group);

  int group() const { return group_; }
  /// Where a node's share begins; for the number of nodes, where the last one's ends.
  Bytes begin(int node) const { return begin_[static_cast<std::size_t>(node)]; }
  Bytes total() const { return begin_.back(); }
  GroupStretch stretch(const groups::Nodes& nodes) const {
    return {begin(nodes.first), begin(nodes.first + nodes.count) - begin(nodes.first)};
  }
  Rank master(int node) const { return masters_[static_cast<std::size_t>(node)]; }

  /// Calls `part(at, from, bytes)` for each run of a stretch of the group's data that is one run in node-major order:
  /// `at` in the group's data, `from` in node-major order.
  template <class Part>
  void for_each_part(const GroupStretch& stretch, Part part) const {
    Bytes offset = stretch.offset;
    const Bytes end = offset + stretch.bytes;
    auto node = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), offset) - begin_.begin()) - 1;
    for (; offset < end; ++node) {
      const Bytes stop = std::min(end, begin_[node + 1]);
      if (stop > offset) part(offset, sources_[node] + (offset - begin_[node]), stop - offset);
      offset = std::max(offset, stop);
    }
  }

 private:
  int group_;
  std::vector<Bytes> begin_;
  std::vector<Bytes> sources_;  ///< where a node's share begins in node-major order
  std::vector<Rank> masters_;
};

/// Whether masters exchange copies in scratch (the paper's copy-based scheme, section 7: one message for all that goes
/// to one place), or straight out of and into the callers' buffers (zero-copy: one message for each stretch that is
/// contiguous there): as the choice says, and where it leaves it open, under single copy nothing is staged; through
/// cells the paper's forms are, the lean one only where ranks' blocks are short and lie apart.
bool stages_data(bool is_blocked, const plan::Problem& problem, const plan::Choice& choice);

/// All groups as one node sees them. Copy-based, a master keeps the data of its groups in scratch, group behind group;
/// zero-copy, in its output, where they belong. The builder's topology must outlive it.
class GroupData {
 public:
  GroupData(const plan::Builder& builder, const plan::Problem& problem, const plan::Choice& choice);

  const smp::NodeMajor& order() const { return order_; }
  const std::vector<GroupShares>& groups() const { return groups_; }
  bool is_staged() const { return is_staged_; }
  LocalRank master_of(const GroupShares& group) const { return topology_.local_rank(group.master(node_.value)); }
  int group_of(LocalRank rank) const { return shares_.group_of(rank); }
  /// The rank's share of the node is its own block, and it speaks for it itself.
  bool is_alone(LocalRank rank) const;
  /// Scratch that a rank of this node needs.
  Bytes scratch_bytes(LocalRank rank) const;
  /// Where a rank of this node's block begins in everyone's output, and in its master's buffer; its length.
  smp::Range place_in_output(LocalRank rank) const;
  smp::Range place_at_master(LocalRank rank) const;

  /// Calls `visit(group)` for each group that the rank of this node speaks for.
  template <class Visit>
  void for_each_group_of(LocalRank rank, Visit visit) const {
    for (const GroupShares& group : groups_)
      if (master_of(group) == rank) visit(group);
  }

  /// Calls `part(at, place)` for each run of a stretch of the group's data that is one run where this node's master has
  /// it.
  template <class Part>
  void for_each_run(const GroupShares& group, const GroupStretch& stretch, Part part) const {
    if (!is_staged_)
      for_each_place(group, stretch, [&](Bytes at, Bytes to, Bytes bytes) {
        part(at, smp::Range{plan::Buffer::output, to, bytes});
      });
    else if (stretch.bytes > 0)
      part(stretch.offset, smp::Range{plan::Buffer::scratch, base_of(group) + stretch.offset, stretch.bytes});
  }

  /// Calls `part(at, to, bytes)` for each run of a stretch of the group's data that is one run in everyone's output.
  template <class Part>
  void for_each_place(const GroupShares& group, const GroupStretch& stretch, Part part) const {
    group.for_each_part(stretch, [&](Bytes at, Bytes source, Bytes bytes) {
      order_.for_each_part(source, bytes,
                           [&](Bytes from, Bytes to, Bytes run) { part(at + (from - source), to, run); });
    });
  }

  /// Where this node's master has one byte of the group's data that is at `to` of everyone's output.
  smp::Range place_of(const GroupShares& group, Bytes at, Bytes to, Bytes bytes) const {
    if (is_staged_) return {plan::Buffer::scratch, base_of(group) + at, bytes};
    return {plan::Buffer::output, to, bytes};
  }

 private:
  Bytes base_of(const GroupShares& group) const { return bases_[static_cast<std::size_t>(group.group())]; }

  const topology::Topology& topology_;
  NodeId node_;
  smp::NodeMajor order_;
  groups::Shares shares_;
  bool is_staged_;
  std::vector<GroupShares> groups_;
  std::vector<Bytes> bases_;  ///< where each group's data begin in the scratch of this node's master
};

}  // namespace espalier::algorithms
