// Reduce_scatter: every node combines what its ranks bring, node by node of those who will get it; leaders send each
// other's parts directly (pairwise, one message per pair), combine what arrives and hand out their node's blocks.
//
//   leader 0   [ for node 0 | for node 1 | for node 2 ]     keeps the first part, sends the others,
//   leader 1   [ for node 0 | for node 1 | for node 2 ]     gets one part from each

#include "collectives/reduce_scatter.hpp"

#include <span>
#include <vector>

#include "collectives/gather_reduce.hpp"
#include "collectives/in_flight.hpp"
#include "collectives/leader_sum.hpp"
#include "collectives/node_parts.hpp"
#include "collectives/reduce_scatter_halving.hpp"
#include "collectives/words.hpp"
#include "groups/distances.hpp"
#include "plan/blocks.hpp"
#include "smp/reduce_apart.hpp"

namespace espalier::collectives {

namespace {

/// Where the leaders' scratch holds what: all nodes' parts as the own node has combined them, one behind the other,
/// then the own part as each of the other nodes has.
class Layout {
 public:
  Layout(const topology::Topology& topology, const plan::Blocks& blocks, NodeId me) : me_(me.value) {
    begin_.push_back(0);
    for (int node = 0; node < topology.nodes(); ++node)
      begin_.push_back(begin_.back() + part_bytes(topology, blocks, node));
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
        nodes_(builder.topology().nodes()),
        layout_(builder.topology(), plan::Blocks(problem, builder.topology().ranks()), builder.node()),
        parts_(builder, problem, choice, layout_.total(nodes_)),
        receives_(builder, choice),
        sends_(builder, choice) {}

  void build() {
    const int me = builder_.node().value;
    for (const int distance : groups::spread_distances(nodes_)) {
      const int from = (me + nodes_ - distance) % nodes_, to = (me + distance) % nodes_;
      if (parts_.is_leader() && own_bytes() > 0) expect(from);
      parts_.combine(std::span(&to, 1), layout_.begin(to));
      if (parts_.is_leader() && layout_.bytes(to) > 0) send(to);
    }
    parts_.combine(std::span(&me, 1), layout_.begin(me));  // while the others are under way
    const Bytes result = layout_.operand(nodes_ - 1);
    if (parts_.is_leader()) add_parts(result);
    parts_.deal(result);
    sends_.finish_all();
    parts_.end();
  }

 private:
  Bytes own_bytes() const { return layout_.bytes(builder_.node().value); }

  void expect(int node) {
    receives_.make_room();
    receives_.add(builder_.recv(parts_.leader_of(node), Buffer::scratch, layout_.operand(node), own_bytes()));
  }

  void send(int node) {
    sends_.make_room();
    sends_.add(builder_.send(parts_.leader_of(node), Buffer::scratch, layout_.begin(node), layout_.bytes(node)));
  }

  /// From the last node down to the first, so that operands stay in order; the sum gathers at the last one's.
  void add_parts(Bytes sum) {
    receives_.finish_all();
    for (int node = nodes_ - 2; node >= 0; --node)
      builder_.reduce(Buffer::scratch, layout_.operand(node), Buffer::scratch, sum, own_bytes());
  }

  Builder& builder_;
  int nodes_;
  Layout layout_;
  NodeParts parts_;
  InFlight receives_;
  InFlight sends_;
};

}  // namespace

void build_reduce_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  if (plan::Blocks(problem, builder.topology().ranks()).total() == 0) return;
  if (builder.topology().nodes() == 1)
    smp::reduce_blocks(builder, problem, choice);
  else if (choice.between == plan::Between::gather_reduce)
    build_gather_reduce(builder, problem, choice);
  else if (choice.between == plan::Between::rabenseifner)
    build_halving_scatter(builder, problem, choice);
  else
    Pairwise(builder, problem, choice).build();
}

std::string why_no_reduce_scatter(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  return why_no_reduction(topology, problem, choice, topology.nodes() == 1 ? topology.ranks() : 1);
}

}  // namespace espalier::collectives
