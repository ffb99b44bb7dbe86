// Allreduce: every node combines what its ranks bring, leaders combine the nodes' results, and each hands the sum out.
//
//   node 0   r r r ─► leader ◄──┐   segment by segment: while one is between the nodes, the next one is
//   node 1   r r r ─► leader ◄──┘   combined on them
//
// On one node there are no leaders: every rank folds a slice for all (smp/reduce_node), or the whole for itself
// (gather_reduce).

#include "collectives/allreduce.hpp"

#include <algorithm>
#include <type_traits>

#include "collectives/gather_reduce.hpp"
#include "collectives/halving.hpp"
#include "collectives/leader_sum.hpp"
#include "collectives/node_order.hpp"
#include "groups/doubling.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce_apart.hpp"
#include "smp/reduce_domains.hpp"
#include "smp/reduce_grain.hpp"
#include "smp/reduce_node.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// One leader's exchange with the others over a stretch of `output`.
class LeaderExchange {
 public:
  /// `spare`: scratch for as many bytes as the stretch.
  LeaderExchange(Builder& builder, const Problem& problem, const Choice& choice, const LeaderOf& leader_of,
                 const LeaderStretch& stretch)
      : builder_(builder),
        problem_(problem),
        choice_(choice),
        leader_of_(leader_of),
        grain_(problem),
        bytes_(stretch.bytes),
        doubling_(groups::derive_doubling(builder.node().value, builder.topology().nodes())),
        sum_(builder, problem, {Buffer::output, stretch.offset}, {Buffer::scratch, stretch.spare}) {}

  void run() {
    const Between between = choice_.between;
    if (between == Between::ring) return go_round();
    if (doubling_.lends_to >= 0) return lend();
    borrow();
    if (between == Between::recursive_doubling)
      double_up();
    else
      halve_and_double();
    repay();
  }

 private:
  Rank leader(int node) const { return leader_of_(node); }
  bool is_left(int node) const { return node < builder_.node().value; }

  void lend() {
    builder_.finish(sum_.send(leader(doubling_.lends_to), 0, bytes_));
    builder_.finish(sum_.recv_result(leader(doubling_.lends_to), 0, bytes_));
  }

  void borrow() {
    if (doubling_.borrows_from < 0) return;
    builder_.finish(sum_.recv_operand(leader(doubling_.borrows_from), 0, bytes_));
    sum_.add(true, 0, bytes_);
  }

  void repay() {
    if (doubling_.borrows_from >= 0) builder_.finish(sum_.send(leader(doubling_.borrows_from), 0, bytes_));
  }

  void double_up() {
    for (const int partner : doubling_.partners) {
      const std::uint32_t operand = sum_.recv_operand(leader(partner), 0, bytes_);
      const std::uint32_t mine = sum_.send(leader(partner), 0, bytes_);
      builder_.finish(operand);
      builder_.finish(mine);
      sum_.add(is_left(partner), 0, bytes_);
    }
    sum_.settle(0, bytes_);
  }

  void halve_and_double() {
    std::vector<Rank> partners;
    for (const int partner : doubling_.partners) partners.push_back(leader(partner));
    Halving halving(builder_, sum_, grain_, bytes_, std::move(partners), doubling_.place);
    halving.halve();
    halving.double_back();
  }

  /// Slice c starts at position c of the ring and collects one operand per hop; the position that has all passes it on
  /// once more.
  void go_round() {
    const int count = builder_.topology().nodes();
    const smp::Slices cuts(grain_, bytes_, count);
    const NodeOrder order(builder_.topology(), problem_, choice_);
    const int position = order.position_of(builder_.node().value);
    const auto slice_behind = [&](int steps) { return (position - steps + 2 * count) % count; };
    const Rank right = leader(order.node_at(slice_behind(-1))), left = leader(order.node_at(slice_behind(1)));
    for (int hop = 0; hop < 2 * (count - 1); ++hop) {
      const bool has_sum = hop >= count - 1;
      const int out = slice_behind(has_sum ? hop - count : hop), in = slice_behind(has_sum ? hop - count + 1 : hop + 1);
      const std::uint32_t arriving = has_sum ? sum_.recv_result(left, cuts.begin(in), cuts.bytes(in))
                                             : sum_.recv_operand(left, cuts.begin(in), cuts.bytes(in));
      const std::uint32_t leaving = sum_.send(right, cuts.begin(out), cuts.bytes(out));
      builder_.finish(arriving);
      builder_.finish(leaving);
      if (!has_sum) sum_.add(true, cuts.begin(in), cuts.bytes(in));
    }
  }

  Builder& builder_;
  const Problem& problem_;
  const Choice& choice_;
  const LeaderOf& leader_of_;
  smp::Grain grain_;
  Bytes bytes_;
  groups::Doubling doubling_;
  LeaderSum sum_;
};

void build_on_one_node(Builder& builder, const Problem& problem, const Choice& choice) {
  if (choice.between == Between::gather_reduce)
    return smp::reduce_apart(builder, problem, choice, builder.node_size() - 1);
  const auto reduce_by = [&]<class NodeSum>(std::type_identity<NodeSum>) {
    builder.need_scratch(NodeSum::scratch_bytes(problem, choice));
    NodeSum node(builder, problem, choice, NodeSum::everyone, Buffer::output, 0);
    node.reduce(0, 0, problem.bytes);
    node.end();
  };
  if (choice.levels > 1 && choice.within == plan::Within::cells)
    reduce_by(std::type_identity<smp::DomainReduction>{});
  else
    reduce_by(std::type_identity<smp::NodeReduction>{});
}

void build_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  const smp::Grain grain(problem);
  const Bytes whole = choice.segment == 0 ? problem.bytes : std::max(grain.bytes(), grain.round_down(choice.segment));
  const Bytes segment = std::min(whole, problem.bytes);
  const leaders::Speakers speakers(builder.topology(), problem, choice.leaders);
  const LeaderOf leader_of = [&](int node) { return speakers.of(NodeId(node)); };
  const LocalRank leader = speakers.local_of(builder.node());
  const bool is_leader = builder.local() == leader;
  const Bytes own = smp::NodeReduction::scratch_bytes(problem, choice);
  builder.need_scratch(own + (is_leader ? segment : 0));
  smp::NodeReduction node(builder, problem, choice, leader, Buffer::output, 0);
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    const Bytes bytes = std::min(segment, problem.bytes - offset);
    node.reduce(offset, offset, bytes);
    if (is_leader) combine_leaders(builder, problem, choice, leader_of, {offset, bytes, own});
    node.hand_out(smp::NodeReduction::everyone, {Buffer::output, offset, bytes}, offset);
  }
  node.end();
}

}  // namespace

void build_allreduce(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (choice.between == Between::gather_reduce && builder.topology().nodes() > 1)
    build_gather_reduce(builder, problem, choice);
  else if (builder.topology().nodes() == 1)
    build_on_one_node(builder, problem, choice);
  else
    build_between_nodes(builder, problem, choice);
}

void combine_leaders(Builder& builder, const Problem& problem, const Choice& choice, const LeaderOf& leader_of,
                     const LeaderStretch& stretch) {
  LeaderExchange(builder, problem, choice, leader_of, stretch).run();
}

std::string why_no_allreduce(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (choice.between == Between::ring && !problem.is_commutative && topology.nodes() > 1)
    return "a ring changes the order of operands";
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::collectives
