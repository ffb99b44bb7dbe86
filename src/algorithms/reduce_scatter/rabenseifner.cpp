// Leaders keep the nodes' parts such that every round's half is one stretch (part_order.hpp); near first:
//
//     node 0   [ 0 2 | 1 3 ]  ◄── 1 3 │ 0 2 ──►  node 1     round 0: the right half goes to odd nodes,
//              [ 0 | 2 ]                                    round 1: and the second part to nodes 2 and 3
//
// Nodes beyond a power of two lend all they have to a neighbour at first, and get their part in the end.

#include <algorithm>
#include <vector>

#include "algorithms/parts/halving.hpp"
#include "algorithms/parts/node_parts.hpp"
#include "algorithms/parts/part_order.hpp"
#include "algorithms/reduce_scatter/parts.hpp"
#include "algorithms/row.hpp"
#include "groups/doubling.hpp"

namespace espalier::algorithms::reduce_scatter_rabenseifner {

namespace {

/// The nodes of slices [first, last), slice by slice.
std::vector<int> nodes_in(const PartOrder& order, int first, int last, int nodes) {
  std::vector<int> all;
  for (int slice = first; slice < last; ++slice)
    for (const int node : groups::derive_members(order.place_of(slice), nodes)) all.push_back(node);
  return all;
}

class HalvingScatter {
 public:
  HalvingScatter(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        nodes_(builder.topology().nodes()),
        blocks_(problem, builder.topology().ranks()),
        order_(derive_part_order(builder.topology(), problem)),
        me_(groups::derive_doubling(builder.node().value, nodes_)),
        stretches_(join_blocks(builder.topology(), blocks_, nodes_in(order_, 0, order_.places(), nodes_), 0)),
        parts_(builder, problem, choice, (is_short() ? 3 : 2) * end()) {}

  void build() {
    if (has_all())
      combine_all();
    else
      combine(order_.places() / 2 - kept());
    if (parts_.is_leader())
      me_.lends_to >= 0 ? lend() : exchange();
    else if (!has_all())
      combine(kept());
    parts_.deal(result());
    parts_.end();
  }

 private:
  bool is_short() const { return end() <= short_stretch(builder_.topology()) * stretches_.size(); }
  /// Whether the whole vector is combined before the first message.
  bool has_all() const { return is_short() || me_.lends_to >= 0 || me_.borrows_from >= 0; }
  Bytes end() const { return order_.cuts().back(); }
  int slice() const {
    const int lender = me_.lends_to;
    return order_.slice_of(lender >= 0 ? groups::derive_doubling(lender, nodes_).place : me_.place);
  }
  Bytes begin_of_slice() const { return order_.cuts()[static_cast<std::size_t>(slice())]; }
  Bytes bytes_of(int node) const { return part_bytes(builder_.topology(), blocks_, node); }
  /// The own part, in the end.
  Bytes result() const { return begin_of_slice() + (me_.borrows_from >= 0 ? bytes_of(me_.borrows_from) : 0); }
  /// The first slice of the half that this place keeps in the first round.
  int kept() const { return slice() < order_.places() / 2 ? 0 : order_.places() / 2; }

  /// Half of all slices.
  void combine(int first) {
    const int last = first + order_.places() / 2;
    parts_.combine(nodes_in(order_, first, last, nodes_), order_.cuts()[static_cast<std::size_t>(first)]);
  }

  /// Short ones all at once, as they lie in the vector, and from there to their slices: copies cost the leader less
  /// than flags cost everyone.
  void combine_all() {
    if (!is_short()) return parts_.combine(nodes_in(order_, 0, order_.places(), nodes_), 0);
    parts_.combine({0, 2 * end(), end()});
    if (!parts_.is_leader()) return;
    for (const PartStretch& s : stretches_)
      builder_.copy(Buffer::scratch, 2 * end() + s.from, Buffer::scratch, s.to, s.bytes);
  }

  void lend() {
    const Rank to = parts_.leader_of(me_.lends_to);
    builder_.finish(builder_.send(to, Buffer::scratch, 0, end()));
    if (const Bytes own = bytes_of(builder_.node().value); own > 0)
      builder_.finish(builder_.recv(to, Buffer::scratch, result(), own));
  }

  /// The half that stays is combined while the other one is under way, if it is not yet.
  void exchange() {
    LeaderSum sum(builder_, problem_, {Buffer::scratch, 0}, {Buffer::scratch, end()});
    if (me_.borrows_from >= 0) borrow(sum);
    Halving halving(builder_, sum, smp::Grain(problem_), order_.cuts(), circles());
    halving.start_halving(0);
    if (!has_all()) combine(kept());
    halving.finish_halving(0);
    for (int round = 1; round < halving.rounds(); ++round) {
      halving.start_halving(round);
      halving.finish_halving(round);
    }
    if (me_.borrows_from >= 0 && bytes_of(me_.borrows_from) > 0) give_back(sum);
  }

  void borrow(LeaderSum& sum) {
    builder_.finish(sum.recv_operand(parts_.leader_of(me_.borrows_from), 0, end()));
    sum.add(true, 0, end());
  }

  void give_back(LeaderSum& sum) {
    builder_.finish(sum.send(parts_.leader_of(me_.borrows_from), begin_of_slice(), bytes_of(me_.borrows_from)));
  }

  /// Partners by round.
  std::vector<Halving::Circle> circles() const {
    std::vector<Halving::Circle> circles;
    for (const groups::Circle& circle : groups::derive_circles(builder_.node().value, nodes_, 2)) {
      circles.push_back({{}, circle.position});
      for (const int node : circle.nodes) circles.back().ranks.push_back(parts_.leader_of(node));
    }
    if (order_.is_far_first()) std::reverse(circles.begin(), circles.end());
    return circles;
  }

  Builder& builder_;
  const Problem& problem_;
  int nodes_;
  plan::Blocks blocks_;
  PartOrder order_;
  groups::Doubling me_;
  std::vector<PartStretch> stretches_;
  NodeParts parts_;
};

/// By halving (Thakur, Rabenseifner, Gropp 2005, section 4.3). In round k = 0, 1, …
/// leaders whose numbers differ in bit k send each other what the other's half of the nodes will get, and combine: (N -
/// 1)/N of the vector, one message each way at a time. Operands stay in order. Where blocks differ, long ones are
/// combined on their way, and cross the receiver's link log2 N times instead of N - 1; bits then may count from the
/// highest, where that is shorter (parts/part_order.hpp). Unless N is a power of two, the vector once more at first,
/// and a part in the end (groups/doubling.hpp).
void build_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  HalvingScatter(builder, problem, choice).build();
}

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  build_reduce_scatter(builder, problem, choice, build_between_nodes);
}

/// The longest message of each round of a halved reduce_scatter. O(log nodes) without counts, O(ranks) with.
std::vector<double> halved_parts(const Scene& s) {
  std::vector<double> longest;
  if (s.problem.counts.empty()) {
    for (int share = 2; share <= s.nodes; share *= 2) longest.push_back(s.of_node() * s.nodes / share);
    return longest;
  }
  const PartOrder order = derive_part_order(s.topology, s.problem);
  for (const Bytes bytes : order.longest()) longest.push_back(static_cast<double>(bytes));
  return longest;
}

/// Half of what a leader has to each round's partner, while the node combines the other half at first. Nodes beyond a
/// power of two have lent all they have before, and get their part in the end.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_blocks(s.bytes);
  const std::vector<double> longest = halved_parts(s);
  const double all = s.bytes * s.ranks, runs = s.is_blocked ? s.nodes : s.ranks;
  const bool is_even = std::has_single_bit(static_cast<unsigned>(s.nodes));
  const bool is_short = all <= runs * static_cast<double>(short_stretch(s.topology));
  const double whole = s.node.reduce_to_leader(all) + runs * s.node.copy(all / runs);
  const double parts = combine_parts(s, s.nodes);
  double time = s.node.deal(s.bytes);
  if (is_short || !is_even)
    time += (is_short ? whole : parts) + s.network.message(longest.front());
  else
    time += parts / 2 + std::max(parts / 2, s.network.message(longest.front()));
  if (!is_even) time += s.network.message(all) + s.node.combine(all) + s.network.message(s.of_node());
  for (std::size_t round = 0; round < longest.size(); ++round) {
    if (round > 0) time += s.network.message(longest[round]);
    time += s.node.combine(longest[round]) + s.handing_over;
  }
  return time;
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce_scatter,
    .between = "rabenseifner",
    .place = 2,
    .source = "Thakur, Rabenseifner, Gropp 2005, section 4.3 (recursive halving)",
    .summary =
        "leaders halve what they combine at distances 1, 2, 4, … (or from the farthest on, where that is shorter with "
        "different blocks), log2 N rounds (two more unless N is a power of two), (N - 1)/N of the vector: a message "
        "each way at a time, and parts are combined on their way",
    .knobs = "within cell cells stores leaders",
    .build = build,
    .limits = limits_of_reduce_scatter,
    .propose = vary_knobs,
    .way = in_rounds,
    .price = price,
};

}  // namespace espalier::algorithms::reduce_scatter_rabenseifner
