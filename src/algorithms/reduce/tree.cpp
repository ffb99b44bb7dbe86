// Reduce: every node combines what its ranks bring, then leaders combine along a tree or chain towards the root;
// segment by segment.
//
//   r r r ─► leader ──┐
//   r r r ─► leader ──┴─► leader ─► root        a child's nodes follow its parent's: operands stay in order
//
// The root leads its own node. When operands may not change places the tree hangs from node 0, whose leader passes the
// result on to the root.

#include "algorithms/reduce/tree.hpp"

#include <algorithm>
#include <vector>

#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/parts/node_order.hpp"
#include "algorithms/words.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce/domains.hpp"
#include "smp/reduce/grain.hpp"
#include "smp/reduce/node.hpp"
#include "trees/layout.hpp"

namespace espalier::algorithms {

namespace {

/// The caller's part in the tree of leaders.
struct Place {
  Rank parent{-1};
  std::vector<Rank> children;  ///< in the order of their nodes
  /// Where the whole result goes after the tree, when the tree does not end at the root: to here, or from here.
  Rank forward_to{-1};
  Rank forward_from{-1};
};

/// The tree of leaders: around the root's node in the order of the network, or, when operands must stay in theirs, in
/// the order of nodes.
class LeaderTree {
 public:
  LeaderTree(const topology::Topology& topology, const Problem& problem, const Choice& choice)
      : topology_(topology),
        problem_(problem),
        speakers_(topology, problem, choice.leaders),
        order_(topology, problem, choice) {}

  Rank leader_of(NodeId node) const { return leader_at(position_of(node)); }

  Place derive_place(NodeId node, Rank me) const {
    const int position = position_of(node);
    trees::Branch branch = branch_at(position);
    std::sort(branch.children.begin(), branch.children.end());
    Place place;
    if (branch.parent >= 0) place.parent = leader_at(branch.parent);
    for (const int child : branch.children) place.children.push_back(leader_at(child));
    if (node_at(0) == topology_.node_of(problem_.root)) return place;
    if (position == 0) place.forward_to = problem_.root;
    if (me == problem_.root) place.forward_from = leader_at(0);
    return place;
  }

 private:
  trees::Branch branch_at(int position) const {
    return trees::derive_branch(order_.layout(), position, topology_.nodes());
  }
  NodeId node_at(int position) const { return NodeId(problem_.is_commutative ? order_.node_at(position) : position); }
  int position_of(NodeId node) const { return problem_.is_commutative ? order_.position_of(node.value) : node.value; }
  Rank leader_at(int position) const { return speakers_.of(node_at(position), !branch_at(position).children.empty()); }

  const topology::Topology& topology_;
  const Problem& problem_;
  leaders::Speakers speakers_;
  NodeOrder order_;
};

/// A leader's half of the pipeline: its node's result of a segment, then its children's, then on to its parent.
class Confluence {
 public:
  /// The node's results lie in `home` at the segment's offset plus `base`; `spare` is scratch for one segment from each
  /// child.
  Confluence(Builder& builder, const Problem& problem, Place place, Buffer home, Bytes spare, Bytes segment)
      : builder_(builder), problem_(problem), place_(std::move(place)), home_(home), spare_(spare), segment_(segment) {}

  static Bytes scratch_bytes(const Place& place, Bytes segment) {
    return static_cast<Bytes>(place.children.size()) * segment;
  }

  /// Before the node combines its own: what children send is on its way meanwhile.
  void expect(Bytes bytes) {
    for (std::size_t i = 0; i < place_.children.size(); ++i)
      operands_.push_back(builder_.recv(place_.children[i], Buffer::scratch, spare_of(i), bytes));
  }

  void add_children(Bytes offset, Bytes bytes) {
    LeaderSum::Place sum{home_, offset};
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      builder_.finish(operands_[i]);
      LeaderSum::Place operand{Buffer::scratch, spare_of(i)};
      if (!problem_.is_commutative) std::swap(sum, operand);
      builder_.reduce(operand.buffer, operand.offset, sum.buffer, sum.offset, bytes);
    }
    operands_.clear();
    pass_on(sum, offset, bytes);
  }

  void end() {
    for (const std::uint32_t slot : sends_) builder_.finish(slot);
  }

 private:
  Bytes spare_of(std::size_t child) const { return spare_ + static_cast<Bytes>(child) * segment_; }

  void pass_on(const LeaderSum::Place& sum, Bytes offset, Bytes bytes) {
    const Rank next = place_.parent.value >= 0 ? place_.parent : place_.forward_to;
    if (next.value >= 0) {
      sends_.push_back(builder_.send(next, sum.buffer, sum.offset, bytes));
      // The next segment's operands will overwrite a spare place; a receipt into the segment itself is the result.
      if (sum.buffer != home_ || sum.offset != offset || place_.forward_from.value >= 0) finish_sends();
    } else if (sum.buffer != home_ || sum.offset != offset) {
      builder_.copy(sum.buffer, sum.offset, home_, offset, bytes);
    }
    if (place_.forward_from.value >= 0) builder_.finish(builder_.recv(place_.forward_from, home_, offset, bytes));
    if (sends_.size() >= sends_ahead) finish_sends();
  }

  void finish_sends() {
    end();
    sends_.clear();
  }

  static constexpr std::size_t sends_ahead = 8;

  Builder& builder_;
  const Problem& problem_;
  Place place_;
  Buffer home_;
  Bytes spare_;
  Bytes segment_;
  std::vector<std::uint32_t> operands_;
  std::vector<std::uint32_t> sends_;
};

/// `NodeSum`: how a node combines, smp::NodeReduction or smp::DomainReduction.
template <class NodeSum>
void build_tree(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const LeaderTree tree(topology, problem, choice);
  const Rank speaker = tree.leader_of(builder.node());
  const bool leads = speaker == builder.me();
  const Buffer home = builder.node() == topology.node_of(problem.root) ? Buffer::output : Buffer::scratch;
  const smp::Grain grain(problem);
  const bool is_whole = choice.segment == 0 || topology.nodes() == 1;
  const Bytes segment =
      std::min(problem.bytes, is_whole ? problem.bytes : std::max(grain.bytes(), grain.round_down(choice.segment)));

  const Place place = leads && topology.nodes() > 1 ? tree.derive_place(builder.node(), builder.me()) : Place{};
  const Bytes result = leads && home == Buffer::scratch ? problem.bytes : 0;
  const Bytes own = NodeSum::scratch_bytes(problem, choice);
  builder.need_scratch(result + own + Confluence::scratch_bytes(place, segment));
  NodeSum node(builder, problem, choice, topology.local_rank(speaker), home, result);
  Confluence confluence(builder, problem, place, home, result + own, segment);
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    const Bytes bytes = std::min(segment, problem.bytes - offset);
    if (leads) confluence.expect(bytes);
    node.reduce(offset, offset, bytes);
    if (leads) confluence.add_children(offset, bytes);
  }
  confluence.end();
  node.end();
}

}  // namespace

void build_reduce(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (choice.levels > 1 && choice.within == plan::Within::cells)
    build_tree<smp::DomainReduction>(builder, problem, choice);
  else
    build_tree<smp::NodeReduction>(builder, problem, choice);
}

std::string limits_of_reduce(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  return why_no_reduction(topology, problem, choice, 1);
}

double price_reduce(const Scene& s, const CombiningTree& tree) {
  if (s.nodes == 1) return s.node.reduce_to_leader(s.bytes);
  const double bytes = s.segment(), node = s.node.reduce_to_leader(bytes);
  const double last = s.network.message(bytes) + s.node.combine(bytes);
  const double another = std::max(s.network.serial(bytes), s.node.combine(bytes));
  const double way = node + tree.hops * last + (tree.rounds * tree.in_round - tree.hops) * another;
  const double processor = node + tree.children * s.node.combine(bytes) + s.is.overhead;
  const double forward = s.problem.is_commutative ? 0 : s.network.message(bytes);
  return way + forward + (s.segments() - 1) * std::max({processor, s.network.at_once(tree.children, bytes), forward});
}

}  // namespace espalier::algorithms
