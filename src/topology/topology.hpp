#pragma once
// One communicator's view of the machine: which rank sits on which node. An immutable value, equal on every rank.

#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "machine/handover.hpp"
#include "machine/rank_facts.hpp"
#include "topology/distances.hpp"
#include "topology/order_memo.hpp"

namespace espalier::topology {

/// Facts about a communicator that all its ranks have agreed on. They may choose an algorithm; nothing local may.
struct Capabilities {
  /// Every rank may read and write its node neighbours' memory directly (cross-memory attach).
  bool single_copy = false;
  /// On some node more ranks run than the cores they may use.
  bool oversubscribed = false;
  /// Size of one bank of a rank's shared-memory window: the cells of a choice must fit into it.
  Bytes window_bytes = Bytes{256} << 10;
  /// Tells the communicators of a job apart, so that they elect different leaders among equals (leaders/election.hpp).
  int turn = 0;
  /// Of its nodes' processors.
  machine::Handover handover = machine::Handover::quick;

  /// Cores of the node with fewest for its ranks, where they outnumber them; 0: nobody knows, or there is one for each.
  int shared_cores = 0;

  bool operator==(const Capabilities&) const = default;
};

/// Ranks x nodes. Every query is O(1), so that a rank of a huge job builds its own program without walking the job.
/// Copies hold together what they have in common.
class Topology {
 public:
  /// `node_of[r]` is any label of the node that rank r sits on; labels are renumbered by first appearance in rank
  /// order. Placement is arbitrary: unequal nodes, cyclic and shuffled mappings. `facts` says of each rank where it
  /// sits on its node; empty: nobody knows. Throws Error when `node_of` is empty, or when `facts` has another length.
  static Topology from_nodes(std::span<const int> node_of, Capabilities capabilities = {},
                             std::span<const machine::RankFacts> facts = {});

  /// The same communicator with what is known of the network between its nodes. Throws Error when `distances` are of
  /// another number of nodes.
  Topology with_distances(Distances distances) const;

  /// The same, holding together with `known` what is equal in it: most communicators of a process are alike.
  Topology sharing(const Topology& known) const;
  /// Whether they hold all of that together.
  bool shares_with(const Topology& known) const { return placement_ == known.placement_ && network_ == known.network_; }

  int ranks() const { return static_cast<int>(placement_->node_of.size()); }
  int nodes() const { return static_cast<int>(placement_->node_begin.size()) - 1; }
  const Capabilities& capabilities() const { return capabilities_; }

  NodeId node_of(Rank rank) const { return NodeId(placement_->node_of[index(rank)]); }
  LocalRank local_rank(Rank rank) const { return LocalRank(placement_->local_rank[index(rank)]); }

  /// The ranks on a node, ascending; a local rank is an index into this.
  std::span<const Rank> ranks_on(NodeId node) const {
    return by_node().subspan(static_cast<std::size_t>(ranks_before(node)), static_cast<std::size_t>(size_of(node)));
  }
  int size_of(NodeId node) const { return ranks_before(NodeId(node.value + 1)) - ranks_before(node); }

  /// How many ranks sit on the nodes before this one: where the node's part begins in node-major order.
  int ranks_before(NodeId node) const { return placement_->node_begin[at(node)]; }
  int largest_node() const { return placement_->largest_node; }
  int smallest_node() const { return placement_->smallest_node; }

  /// Where each of these ranks sits on the node, in the same order; empty when nobody knows.
  std::span<const machine::RankFacts> facts_on(NodeId node) const {
    const std::span<const machine::RankFacts> all = placement_->facts;
    return all.empty()
               ? all
               : all.subspan(static_cast<std::size_t>(ranks_before(node)), static_cast<std::size_t>(size_of(node)));
  }

  /// Rate of the node's fastest NIC in use, in Mbit/s; 0 when nobody knows. Leaders use one NIC each.
  std::uint32_t nic_mbits(NodeId node) const { return placement_->facts.empty() ? 0 : facts_on(node).front().mbits; }
  /// How far the nodes are apart; neutral when nobody has said.
  const Distances& distances() const { return network_->distances; }
  /// Orders derived from these distances so far, shared by all copies.
  OrderMemo& order_memo() const { return network_->memo; }

  /// All ranks, node by node: `by_node()[ranks_before(n) + i]` is local rank i of node n.
  std::span<const Rank> by_node() const { return placement_->by_node; }
  /// Node-major order is rank order, as under block mapping: data need no reordering between the two.
  bool is_blocked() const { return placement_->is_blocked; }

 private:
  /// Which rank sits where: two arrays, and what follows from the first.
  struct Placement {
    std::vector<int> node_of;
    std::vector<machine::RankFacts> facts;  ///< in the order of by_node; empty, or one for each rank
    std::vector<int> local_rank;
    std::vector<Rank> by_node;
    std::vector<int> node_begin;
    int largest_node = 0;
    int smallest_node = 0;
    bool is_blocked = true;

    bool operator==(const Placement& other) const { return node_of == other.node_of && facts == other.facts; }
  };
  struct Network {
    Distances distances;
    mutable OrderMemo memo;
  };

  static Placement place(std::span<const int> node_of, std::span<const machine::RankFacts> facts);
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank.value); }
  static std::size_t at(NodeId node) { return static_cast<std::size_t>(node.value); }

  Capabilities capabilities_;
  std::shared_ptr<const Placement> placement_;  ///< null only before there is anything to ask
  std::shared_ptr<const Network> network_;      ///< the same
};

}  // namespace espalier::topology
