// Rabenseifner's reduce: scatter the work, then gather the results.
//
//   node 0 (root)  | a b c d |  ──halve──►  | A . . . |  ──gather──►  | A B C D |      capital letters: combined over
//   node 1         | a b c d |              | . B . . |  ──┘  ▲                        all nodes
//   node 2         | a b c d |              | . . C . |  ─────┤
//   node 3         | a b c d |              | . . . D |  ──┘

#include "collectives/reduce_halving.hpp"

#include <algorithm>

#include "collectives/halving.hpp"
#include "collectives/words.hpp"
#include "groups/doubling.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce_node.hpp"

namespace espalier::collectives {

namespace {

/// The leaders in the order in which they combine. Positions count nodes: from node 0 on, or, where operands may change
/// places, such that the root's is the second, which borrows if anybody does and never lends.
class Leaders {
 public:
  Leaders(const topology::Topology& topology, const Problem& problem, const Choice& choice)
      : topology_(topology),
        speakers_(topology, problem, choice.leaders),
        root_(problem.root),
        count_(topology.nodes()),
        first_(problem.is_commutative ? (topology.node_of(root_).value + count_ - 1) % count_ : 0) {}

  int position_of(NodeId node) const { return (node.value - first_ + count_) % count_; }
  int root_position() const { return position_of(topology_.node_of(root_)); }
  Rank at(int position) const {
    const NodeId node((position + first_) % count_);
    return speakers_.of(node, true);  // all receive, whoever ends up with the result
  }
  int count() const { return count_; }
  groups::Doubling doubling_of(int position) const { return groups::derive_doubling(position, count_); }

 private:
  const topology::Topology& topology_;
  leaders::Speakers speakers_;
  Rank root_;
  int count_;
  int first_;
};

/// A leader's exchange over one segment, which its node has combined already.
class Exchange {
 public:
  Exchange(Builder& builder, const Problem& problem, const Leaders& leaders, LeaderSum sum, Bytes bytes)
      : builder_(builder),
        grain_(problem),
        leaders_(leaders),
        root_(leaders.root_position()),
        position_(leaders.position_of(builder.node())),
        doubling_(leaders.doubling_of(position_)),
        sum_(std::move(sum)),
        bytes_(bytes) {}

  void run() {
    if (doubling_.lends_to >= 0) return lend();
    if (doubling_.borrows_from >= 0) borrow();
    std::vector<Halving::Circle> circles;
    std::vector<int> target;  // the result's place, by circle
    for (const groups::Circle& circle : groups::derive_circles(position_, leaders_.count(), 2)) {
      std::vector<Rank> ranks;
      for (const int position : circle.nodes) ranks.push_back(leaders_.at(position));
      target.push_back(place_of_result() >> circles.size() & 1);
      circles.push_back({std::move(ranks), circle.position});
    }
    Halving halving(builder_, sum_, grain_, bytes_, std::move(circles));
    halving.halve();
    halving.gather_at(target);
    if (doubling_.borrows_from == root_) builder_.finish(sum_.send(leaders_.at(root_), 0, bytes_));
  }

 private:
  void lend() {
    const Rank to = leaders_.at(doubling_.lends_to);
    builder_.finish(sum_.send(to, 0, bytes_));
    if (leaders_.at(root_) == builder_.me()) builder_.finish(sum_.recv_result(to, 0, bytes_));
  }

  void borrow() {
    builder_.finish(sum_.recv_operand(leaders_.at(doubling_.borrows_from), 0, bytes_));
    sum_.add(true, 0, bytes_);
  }

  int place_of_result() const {
    const groups::Doubling root = leaders_.doubling_of(root_);
    return root.lends_to >= 0 ? leaders_.doubling_of(root.lends_to).place : root.place;
  }

  Builder& builder_;
  smp::Grain grain_;
  const Leaders& leaders_;
  int root_;
  int position_;
  groups::Doubling doubling_;
  LeaderSum sum_;
  Bytes bytes_;
};

}  // namespace

void build_halving_reduce(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const Leaders leaders(topology, problem, choice);
  const Rank speaker = leaders.at(leaders.position_of(builder.node()));
  const bool leads = speaker == builder.me();
  const smp::Grain grain(problem);
  const Bytes whole = choice.segment == 0 ? problem.bytes : std::max(grain.bytes(), grain.round_down(choice.segment));
  const Bytes segment = std::min(whole, problem.bytes);
  const Buffer home = builder.node() == topology.node_of(problem.root) ? Buffer::output : Buffer::scratch;
  const Bytes result = leads && home == Buffer::scratch ? problem.bytes : 0;
  const Bytes spare = result + smp::NodeReduction::scratch_bytes(problem, choice);
  builder.need_scratch(spare + (leads ? segment : 0));
  smp::NodeReduction node(builder, problem, choice, topology.local_rank(speaker), home, result);
  for (Bytes offset = 0; offset < problem.bytes; offset += segment) {
    const Bytes bytes = std::min(segment, problem.bytes - offset);
    node.reduce(offset, offset, bytes);
    const LeaderSum sum(builder, problem, {home, offset}, {Buffer::scratch, spare});
    if (leads) Exchange(builder, problem, leaders, sum, bytes).run();
  }
  node.end();
}

}  // namespace espalier::collectives
