// Reduce_scatter: every node combines what its ranks bring, node by node of those who will get it; leaders send each
// other's parts directly (pairwise, one message per pair), combine what arrives and hand out their node's blocks.
//
//   leader 0   [ for node 0 | for node 1 | for node 2 ]     keeps the first part, sends the others,
//   leader 1   [ for node 0 | for node 1 | for node 2 ]     gets one part from each

#include <span>
#include <vector>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/parts/node_parts.hpp"
#include "algorithms/reduce_scatter/parts.hpp"
#include "algorithms/row.hpp"
#include "groups/distances.hpp"
#include "plan/blocks.hpp"

namespace espalier::algorithms::reduce_scatter_pairwise {

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

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  build_reduce_scatter(builder, problem, choice,
                       [](Builder& b, const Problem& p, const Choice& c) { Pairwise(b, p, c).build(); });
}

double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_blocks(s.bytes);
  const double combined = combine_parts(s, s.nodes) + (s.nodes - 1) * s.is.overhead;
  const double most = node_data(s).most;
  const double links = s.choice.connections == 1 ? (s.nodes - 1) * s.network.message(most)
                                                 : s.network.crossing(s.nodes - 1, most) + s.network.delay();
  const double sent = combine_parts(s, 1) + links;
  return std::max(combined, sent) + (s.nodes - 1) * s.node.combine(most) + s.node.deal(s.bytes);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce_scatter,
    .between = "pairwise",
    .place = 1,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .summary =
        "leaders send each other node's part of the vector directly, N - 1 messages, (N - 1)/N of the vector; on one "
        "node every rank folds its own block",
    .knobs = "connections within cell cells stores leaders",
    .build = build,
    .limits = limits_of_reduce_scatter,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::reduce_scatter_pairwise
