#pragma once
// Node-major order against rank order. Leaders exchange data node by node; callers want them rank by rank.

#include <algorithm>
#include <span>
#include <vector>

#include "plan/blocks.hpp"
#include "topology/topology.hpp"

namespace espalier::smp {

/// The blocks of all ranks, one behind the other, node by node: then a node's blocks are one stretch however the ranks
/// are placed. Nodes follow each other as they are numbered, or as `node_at` says, position by position; below, a
/// node's position is its number unless there is such an order. O(1) to make without counts and without an order,
/// O(ranks) with. The topology must outlive it.
class NodeMajor {
 public:
  NodeMajor(const topology::Topology& topology, const plan::Problem& problem, std::span<const int> node_at = {});

  /// The same blocks in rank order.
  const plan::Blocks& in_rank_order() const { return blocks_; }
  /// Both orders are one: a stretch of one is a stretch of the other.
  bool is_rank_order() const { return ranks_.empty() && topology_.is_blocked(); }

  int position_of(NodeId node) const { return ranks_.empty() ? node.value : position_of_[index(node.value)]; }
  /// On the nodes of the positions before this one.
  int ranks_before(int position) const {
    return ranks_.empty() ? topology_.ranks_before(NodeId(position)) : ranks_before_[index(position)];
  }
  /// Where the blocks of the first `ranks_before` ranks of this order end.
  Bytes begin(int ranks_before) const {
    return begin_.empty() ? static_cast<Bytes>(ranks_before) * block_ : begin_[static_cast<std::size_t>(ranks_before)];
  }
  /// Where the blocks of the node at a position begin; for the number of nodes, where the last one's end.
  Bytes begin_of(int position) const { return position == topology_.nodes() ? total() : begin(ranks_before(position)); }
  Bytes total() const { return begin(topology_.ranks()); }

  /// Calls `part(from, to, bytes)` for each maximal run of a stretch of this order that is one run in rank order as
  /// well, in order. O(blocks touched).
  template <class Part>
  void for_each_part(Bytes offset, Bytes bytes, Part part) const;

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }
  void put_in_order(std::span<const int> node_at);
  std::span<const Rank> ranks() const { return ranks_.empty() ? topology_.by_node() : std::span<const Rank>(ranks_); }
  Bytes rank_begin(int place) const { return blocks_.begin(ranks()[index(place)]); }
  int index_at(Bytes offset) const;

  const topology::Topology& topology_;
  plan::Blocks blocks_;
  Bytes block_;
  std::vector<Bytes> begin_;       ///< empty when all blocks are equal
  std::vector<Rank> ranks_;        ///< empty where nodes are in the order of their numbers, as the next two are
  std::vector<int> position_of_;   ///< by node
  std::vector<int> ranks_before_;  ///< by position
};

template <class Part>
void NodeMajor::for_each_part(Bytes offset, Bytes bytes, Part part) const {
  const Bytes end = offset + bytes;
  for (int i = bytes == 0 ? 0 : index_at(offset); offset < end; ++i) {
    const Bytes to = rank_begin(i) + (offset - begin(i));
    Bytes stop = std::min(end, begin(i + 1));
    for (; stop < end && (begin(i + 2) == stop || rank_begin(i + 1) == to + (stop - offset)); ++i)
      stop = std::min(end, begin(i + 2));
    if (stop > offset) part(offset, to, stop - offset);
    offset = stop;
  }
}

/// Maps stretches of a writer's buffer to where a reader wants them.
class Placement {
 public:
  /// Byte for byte: broadcast, and wherever node-major order is rank order.
  Placement() = default;
  /// From node-major order into rank order. `order` must outlive it.
  explicit Placement(const NodeMajor& order) : order_(order.is_rank_order() ? nullptr : &order) {}

  /// Calls `part(from, to, bytes)` for each maximal run that stays contiguous, in order.
  template <class Part>
  void for_each_part(Bytes offset, Bytes bytes, Part part) const {
    if (order_ != nullptr) return order_->for_each_part(offset, bytes, part);
    if (bytes > 0) part(offset, offset, bytes);
  }

 private:
  const NodeMajor* order_ = nullptr;
};

/// The blocks of one node's ranks in the buffer of the rank that speaks for them.
class NodeBlocks {
 public:
  /// Among all others in rank order: the root's own buffer.
  static NodeBlocks among_all(const topology::Topology& topology, NodeId node, const NodeMajor& order) {
    return {topology, node, order, order.is_rank_order() ? order.begin_of(node.value) : Bytes{0},
            order.is_rank_order()};
  }
  /// One behind the other from `base` on.
  static NodeBlocks from(Bytes base, const topology::Topology& topology, NodeId node, const NodeMajor& order) {
    return {topology, node, order, base, true};
  }

  Bytes begin(LocalRank rank) const {
    return is_packed_ ? base_ + order_.begin(first_ + rank.value) - order_.begin(first_)
                      : order_.in_rank_order().begin(ranks_[static_cast<std::size_t>(rank.value)]);
  }
  Bytes bytes(LocalRank rank) const {
    return order_.begin(first_ + rank.value + 1) - order_.begin(first_ + rank.value);
  }
  /// Of all of them together.
  Bytes total() const { return order_.begin(first_ + static_cast<int>(ranks_.size())) - order_.begin(first_); }

 private:
  NodeBlocks(const topology::Topology& topology, NodeId node, const NodeMajor& order, Bytes base, bool is_packed)
      : ranks_(topology.ranks_on(node)),
        first_(order.ranks_before(order.position_of(node))),
        order_(order),
        base_(base),
        is_packed_(is_packed) {}

  std::span<const Rank> ranks_;
  int first_;
  const NodeMajor& order_;
  Bytes base_;
  bool is_packed_;
};

}  // namespace espalier::smp
