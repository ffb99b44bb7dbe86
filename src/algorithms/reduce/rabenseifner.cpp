// Rabenseifner's reduce: scatter the work, then gather the results.
//
//   node 0 (root)  | a b c d |  ──halve──►  | A . . . |  ──gather──►  | A B C D |      capital letters: combined over
//   node 1         | a b c d |              | . B . . |  ──┘  ▲                        all nodes
//   node 2         | a b c d |              | . . C . |  ─────┤
//   node 3         | a b c d |              | . . . D |  ──┘

#include <algorithm>

#include "algorithms/parts/halving.hpp"
#include "algorithms/prices/halving.hpp"
#include "algorithms/reduce/tree.hpp"
#include "algorithms/row.hpp"
#include "groups/doubling.hpp"
#include "leaders/speakers.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::algorithms::reduce_rabenseifner {

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

/// Over several nodes. The leaders halve what they combine, round by round, then a binomial tree
/// gathers the slices at the root's leader: 2 ceil(log2 N) rounds, about the vector sent by each and twice the vector
/// received by the root, where a tree makes inner leaders receive and combine the vector once per child. When N is no
/// power of two some leaders lend their vector to a neighbour first; the root never does if operands may change places.
void build_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
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

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1) return build_reduce(builder, problem, choice);
  if (problem.bytes > 0) build_between_nodes(builder, problem, choice);
}

/// Halving, then a gather of what was combined: each moves (N - 1)/N of the vector over the root's link.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_to_leader(s.bytes);
  const double bytes = s.segment(), share = bytes * (s.nodes - 1) / s.nodes;
  const int rounds = cost::rounds_of(s.nodes + 1) - 1;
  const bool is_even = (1 << rounds) == s.nodes;
  const double lend = is_even ? 0 : s.network.message(bytes) + s.node.combine(bytes);
  const double phase = halved_time(s, bytes, rounds);
  return s.segments() * (s.node.reduce_to_leader(bytes) + lend + 2 * phase + s.node.combine(share));
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce,
    .between = "rabenseifner",
    .place = 3,
    .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005, section 4.4",
    .summary =
        "leaders halve what they combine at distances 1, 2, 4, …, then a binomial tree gathers the slices, 2 log2 N "
        "rounds (one or two more unless N is a power of two); every leader sends the vector once, none combines it "
        "more than once",
    .knobs = "segment within cell cells leaders",
    .build = build,
    .limits = limits_of_reduce,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::reduce_rabenseifner
