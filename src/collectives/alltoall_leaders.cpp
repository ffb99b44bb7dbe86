// All-to-all of short blocks: each leader fetches what its node has for another node and sends it as one message.
//
//     rank i's window    | blocks for node 0 | blocks for node 1 | …          put by rank i, node by node
//     message n → m      | i = 0: j = 0, 1, … | i = 1: j = 0, 1, … | …        got from all windows, sent by n's leader
//     m's leader         | for neighbours | message of node 0 | …             received into its window: rank j gets
//                                                                             block (i, j) of every i
//
// The paper (section 8.3) gave this up because its leader had to rearrange data between the stages; here nobody does:
// sources lay out by node, targets pick their own. It costs two copies more than pairwise and saves all messages but
// one.
//
// With groups of leaders (multi_group) each of g leaders of a node exchanges with every g-th other node; the leader of
// such a node keeps no blocks for it in its window, the others do.

#include "collectives/alltoall_leaders.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "collectives/in_flight.hpp"
#include "collectives/masters.hpp"
#include "groups/distances.hpp"
#include "smp/operations.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::PairBlocks;
using plan::Problem;
using topology::Topology;

namespace {

constexpr std::size_t sends_ahead = 16;

plan::Choice with_groups(plan::Choice choice) {
  if (choice.between != plan::Between::multi_group) choice.groups = 1;
  return choice;
}

/// Sizes and places that every rank of a node works out alike.
class Layout {
 public:
  Layout(const Topology& topology, const Problem& problem, const plan::Choice& choice)
      : topology_(topology),
        problem_(problem),
        blocks_(problem, topology.ranks()),
        masters_(topology, problem, with_groups(choice)) {}

  const PairBlocks& blocks() const { return blocks_; }
  std::span<const Rank> ranks_on(int node) const { return topology_.ranks_on(NodeId(node)); }
  /// Who on `node` exchanges with `peer`: leaders share the other nodes, and two nodes talk through leaders of the same
  /// group, that is of the same rail.
  Rank leader_of(int node, int peer) const { return masters_.of(node, group_of(node, peer)); }
  bool leads(Rank rank, int peer) const {
    const int node = topology_.node_of(rank).value;
    return peer != node && leader_of(node, peer) == rank;
  }

  Bytes bytes_to_node(Rank from, int node) const {
    if (problem_.counts.empty()) return problem_.bytes * static_cast<Bytes>(topology_.size_of(NodeId(node)));
    Bytes sum = 0;
    for (const Rank to : ranks_on(node)) sum += blocks_.bytes(from, to);
    return sum;
  }
  Bytes message(int from, int to) const {
    Bytes sum = 0;
    for (const Rank rank : ranks_on(from)) sum += bytes_to_node(rank, to);
    return sum;
  }
  /// Where in a rank's window its blocks for a node begin; for the number of nodes, where all end. It holds none for
  /// nodes that the rank exchanges with itself.
  Bytes window_begin(Rank owner, int node) const {
    Bytes sum = 0;
    for (int before = 0; before < node; ++before)
      if (!leads(owner, before)) sum += bytes_to_node(owner, before);
    return sum;
  }
  /// Where among a rank's blocks for its node the one of `to` begins.
  Bytes begin_on_node(Rank from, Rank to) const {
    if (problem_.counts.empty()) return problem_.bytes * static_cast<Bytes>(topology_.local_rank(to).value);
    Bytes sum = 0;
    for (const Rank rank : ranks_on(topology_.node_of(to).value)) {
      if (rank == to) break;
      sum += blocks_.bytes(from, rank);
    }
    return sum;
  }
  /// Where in a leader's window, behind its own blocks, the message of a node begins; for the number of nodes, the end.
  Bytes incoming_begin(Rank leader, int node) const {
    Bytes sum = window_begin(leader, topology_.nodes());
    for (int before = 0; before < node; ++before)
      if (leads(leader, before)) sum += message(before, topology_.node_of(leader).value);
    return sum;
  }

 private:
  /// By how far apart the nodes are on a circle of all: every node has two others at each distance. Where those are
  /// fewer than groups, by their sum, which leaves no group without work.
  int group_of(int node, int peer) const {
    const int nodes = topology_.nodes(), right = (peer - node + nodes) % nodes;
    const bool has_distances = masters_.groups() <= nodes / 2;
    return (has_distances ? std::min(right, nodes - right) - 1 : node + peer) % masters_.groups();
  }

  const Topology& topology_;
  const Problem& problem_;
  PairBlocks blocks_;
  Masters masters_;
};

class LeaderSwap {
 public:
  LeaderSwap(Builder& builder, const Problem& problem, const plan::Choice& choice)
      : builder_(builder),
        layout_(builder.topology(), problem, choice),
        cells_(choice),
        nodes_(builder.topology().nodes()),
        node_(builder.node().value),
        distances_(groups::spread_distances(nodes_)),
        receives_(builder, static_cast<std::size_t>(nodes_)),
        sends_(builder, sends_ahead) {}

  void run() {
    builder_.claim_window();
    start_receives();
    put_blocks();
    send_messages();
    get_from_neighbours();
    for (std::size_t i = 0; i < distances_.size(); ++i) get_from_node(left(distances_[i]), static_cast<int>(i) + 1);
    sends_.finish_all();
  }

 private:
  bool leads(int peer) const { return layout_.leads(builder_.me(), peer); }
  int left(int distance) const { return (node_ - distance + nodes_) % nodes_; }
  Bytes output_begin(Rank from) const { return layout_.blocks().output_begin(from, builder_.me()); }

  void start_receives() {
    for (const int distance : distances_) {
      const int from = left(distance);
      if (leads(from))
        receives_.add(builder_.recv(layout_.leader_of(from, node_), Buffer::window,
                                    layout_.incoming_begin(builder_.me(), from), layout_.message(from, node_)));
    }
  }

  // In one go, whatever the size of a cell: all cells together are the piece.
  void put_blocks() {
    smp::JoinedPuts puts(builder_, cells_);
    const Rank me = builder_.me();
    Bytes offset = 0;
    for (int node = 0; node < nodes_; ++node) {
      if (leads(node)) continue;
      for (const Rank to : layout_.ranks_on(node)) {
        const Bytes bytes = layout_.blocks().bytes(me, to);
        if (to != me) puts.add(0, {Buffer::input, layout_.blocks().input_begin(me, to), bytes}, offset);
        offset += bytes;
      }
    }
    puts.flush();
    if (builder_.node_size() > 1) smp::pair_sync(builder_, builder_.local(), 0);
  }

  void send_messages() {
    Bytes total = 0, begin = 0;
    for (int node = 0; node < nodes_; ++node)
      if (leads(node)) total += layout_.message(node_, node);
    builder_.need_scratch(total);
    for (const int distance : distances_) {
      const int to = (node_ + distance) % nodes_;
      if (!leads(to)) continue;
      const Bytes bytes = layout_.message(node_, to);
      collect_message(to, begin);
      sends_.make_room();
      sends_.add(builder_.send(layout_.leader_of(to, node_), Buffer::scratch, begin, bytes));
      begin += bytes;
    }
  }

  void collect_message(int node, Bytes offset) {
    for (const Rank from : layout_.ranks_on(node_)) {
      const LocalRank owner = builder_.topology().local_rank(from);
      const Bytes bytes = layout_.bytes_to_node(from, node);
      if (from != builder_.me() && !have_neighbours_put_) smp::pair_sync(builder_, owner, 0);
      if (from == builder_.me())
        copy_own_blocks(node, offset);
      else
        smp::receiver_get(builder_, cells_, owner, 0, layout_.window_begin(from, node),
                          {Buffer::scratch, offset, bytes});
      offset += bytes;
    }
    have_neighbours_put_ = true;
  }

  void copy_own_blocks(int node, Bytes offset) {
    const Rank me = builder_.me();
    for (const Rank to : layout_.ranks_on(node)) {
      builder_.copy(Buffer::input, layout_.blocks().input_begin(me, to), Buffer::scratch, offset,
                    layout_.blocks().bytes(me, to));
      offset += layout_.blocks().bytes(me, to);
    }
  }

  void get_from_neighbours() {
    const Rank me = builder_.me();
    for (const Rank from : layout_.ranks_on(node_)) {
      const LocalRank owner = builder_.topology().local_rank(from);
      const Bytes bytes = layout_.blocks().bytes(from, me);
      if (from == me) {
        builder_.copy(Buffer::input, layout_.blocks().input_begin(me, me), Buffer::output, output_begin(me), bytes);
        continue;
      }
      if (!have_neighbours_put_) smp::pair_sync(builder_, owner, 0);
      smp::receiver_get(builder_, cells_, owner, 0, layout_.window_begin(from, node_) + layout_.begin_on_node(from, me),
                        {Buffer::output, output_begin(from), bytes});
    }
  }

  /// Takes this rank's blocks out of the message of another node, the `number`-th to be waited for.
  void get_from_node(int node, int number) {
    const Rank leader = layout_.leader_of(node_, node);
    const LocalRank owner = builder_.topology().local_rank(leader);
    if (leads(node)) receives_.finish_oldest();
    if (builder_.node_size() > 1) smp::pair_sync(builder_, owner, number);
    Bytes offset = layout_.incoming_begin(leader, node);
    for (const Rank from : layout_.ranks_on(node)) {
      smp::receiver_get(builder_, cells_, owner, 0, offset + layout_.begin_on_node(from, builder_.me()),
                        {Buffer::output, output_begin(from), layout_.blocks().bytes(from, builder_.me())});
      offset += layout_.bytes_to_node(from, node_);
    }
  }

  Builder& builder_;
  Layout layout_;
  smp::Cells cells_;
  int nodes_;
  int node_;
  std::vector<int> distances_;  ///< of the nodes on the right that it sends to, and on the left, in turn
  InFlight receives_;
  InFlight sends_;
  bool have_neighbours_put_ = false;
};

}  // namespace

void build_alltoall_leaders(Builder& builder, const Problem& problem, const plan::Choice& choice) {
  LeaderSwap(builder, problem, choice).run();
}

std::string why_no_alltoall_leaders(const Topology& topology, const Problem& problem, const plan::Choice& choice) {
  if (topology.nodes() == 1) return "one node has no leaders that exchange: use pairwise";
  if (choice.within != plan::Within::cells) return "leaders exchange what lies in cells: use within=cells";
  const Layout layout(topology, problem, choice);
  Bytes most = 0;
  for (const Rank rank : topology.by_node()) most = std::max(most, layout.incoming_begin(rank, topology.nodes()));
  const Bytes room = choice.cell * static_cast<Bytes>(choice.cells);
  if (most <= room) return "";
  return "a rank's cells would have to hold " + format_bytes(most) + " at once: use pairwise, or more cells";
}

}  // namespace espalier::collectives
