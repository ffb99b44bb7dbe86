// Reduce_scatter: every node combines what its ranks bring, node by node of those who will get it; leaders send each
// other's parts directly (pairwise, one message per pair), combine what arrives and hand out their node's blocks.
//
//   leader 0   [ for node 0 | for node 1 | for node 2 ]     keeps the first part, sends the others,
//   leader 1   [ for node 0 | for node 1 | for node 2 ]     gets one part from each

#include "collectives/reduce_scatter.hpp"

#include <vector>
#include "collectives/gather_reduce.hpp"

#include "collectives/leader_sum.hpp"
#include "groups/distances.hpp"
#include "leaders/speakers.hpp"
#include "plan/blocks.hpp"
#include "smp/reduce_apart.hpp"
#include "smp/reduce_grain.hpp"
#include "smp/reduce_node.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// Where the leaders' scratch holds what: all nodes' parts as the own node has combined them, one behind the other,
/// then the own part as each of the other nodes has.
class Layout {
 public:
  Layout(const topology::Topology& topology, const plan::Blocks& blocks, NodeId me) : me_(me.value) {
    begin_.push_back(0);
    for (int node = 0; node < topology.nodes(); ++node) {
      Bytes bytes = 0;
      for (const Rank rank : topology.ranks_on(NodeId(node))) bytes += blocks.bytes(rank);
      begin_.push_back(begin_.back() + bytes);
    }
  }

  Bytes begin(int node) const { return begin_[static_cast<std::size_t>(node)]; }
  Bytes bytes(int node) const { return begin(node + 1) - begin(node); }
  /// The own part as `node` has combined it.
  Bytes operand(int node) const {
    if (node == me_) return begin(node);
    return begin_.back() + static_cast<Bytes>(node < me_ ? node : node - 1) * bytes(me_);
  }
  Bytes total(int nodes) const { return begin_.back() + static_cast<Bytes>(nodes - 1) * bytes(me_); }

 private:
  int me_;
  std::vector<Bytes> begin_;
};

class Pairwise {
 public:
  Pairwise(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        topology_(builder.topology()),
        blocks_(problem, topology_.ranks()),
        layout_(topology_, blocks_, builder.node()),
        speakers_(topology_, problem, choice.leaders),
        leader_(speakers_.local_of(builder.node())),
        node_(builder, problem, choice, leader_, Buffer::scratch, is_leader() ? layout_.total(topology_.nodes()) : 0) {
    builder.need_scratch((is_leader() ? layout_.total(topology_.nodes()) : 0) +
                         smp::NodeReduction::scratch_bytes(problem, choice));
  }

  void build() {
    if (is_leader()) expect_parts();
    for (const int distance : groups::spread_distances(topology_.nodes())) {
      const int node = (builder_.node().value + distance) % topology_.nodes();
      combine_part(node);
      if (is_leader() && layout_.bytes(node) > 0)
        sends_.push_back(builder_.send(leader_of(node), Buffer::scratch, layout_.begin(node), layout_.bytes(node)));
    }
    combine_part(builder_.node().value);  // while the others are under way
    const Bytes result = layout_.operand(topology_.nodes() - 1);
    if (is_leader()) add_parts(result);
    hand_out(result);
    for (const std::uint32_t slot : sends_) builder_.finish(slot);
    node_.end();
  }

 private:
  bool is_leader() const { return builder_.local() == leader_; }
  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }
  Bytes own_bytes() const { return layout_.bytes(builder_.node().value); }

  void expect_parts() {
    for (int node = 0; node < topology_.nodes(); ++node)
      if (node != builder_.node().value && own_bytes() > 0)
        receives_.push_back(builder_.recv(leader_of(node), Buffer::scratch, layout_.operand(node), own_bytes()));
  }

  /// What this node brings for the ranks of another, in stretches that are consecutive in the vector.
  void combine_part(int node) {
    const auto ranks = topology_.ranks_on(NodeId(node));
    Bytes to = layout_.begin(node);
    for (std::size_t i = 0; i < ranks.size();) {
      const std::size_t first = i;
      Bytes bytes = 0;
      do bytes += blocks_.bytes(ranks[i++]);
      while (i < ranks.size() && ranks[i].value == ranks[i - 1].value + 1);
      node_.reduce(blocks_.begin(ranks[first]), to, bytes);
      to += bytes;
    }
  }

  /// From the last node down to the first, so that operands stay in order; the sum gathers at the last one's.
  void add_parts(Bytes sum) {
    for (const std::uint32_t slot : receives_) builder_.finish(slot);
    for (int node = topology_.nodes() - 2; node >= 0; --node)
      builder_.reduce(Buffer::scratch, layout_.operand(node), Buffer::scratch, sum, own_bytes());
  }

  void hand_out(Bytes result) {
    for (const Rank rank : topology_.ranks_on(builder_.node())) {
      const LocalRank local = topology_.local_rank(rank);
      if (local == leader_ && is_leader())
        builder_.copy(Buffer::scratch, result, Buffer::output, 0, blocks_.bytes(rank));
      node_.hand_out(local, {Buffer::scratch, result, blocks_.bytes(rank)}, 0);
      result += blocks_.bytes(rank);
    }
  }

  Builder& builder_;
  const topology::Topology& topology_;
  plan::Blocks blocks_;
  Layout layout_;
  leaders::Speakers speakers_;
  LocalRank leader_;
  smp::NodeReduction node_;
  std::vector<std::uint32_t> receives_;
  std::vector<std::uint32_t> sends_;
};

}  // namespace

void build_reduce_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  if (plan::Blocks(problem, builder.topology().ranks()).total() == 0) return;
  if (builder.topology().nodes() == 1)
    smp::reduce_blocks(builder, problem, choice);
  else if (choice.between == plan::Between::gather_reduce)
    build_gather_reduce(builder, problem, choice);
  else
    Pairwise(builder, problem, choice).build();
}

std::string why_no_reduce_scatter(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  return why_no_reduction(topology, problem, choice, topology.nodes() == 1 ? topology.ranks() : 1);
}

}  // namespace espalier::collectives
