// Leaders keep the nodes' parts such that every round's half is one stretch (part_order.hpp); near first:
//
//     node 0   [ 0 2 | 1 3 ]  ◄── 1 3 │ 0 2 ──►  node 1     round 0: the right half goes to odd nodes,
//              [ 0 | 2 ]                                    round 1: and the second part to nodes 2 and 3
//
// Nodes beyond a power of two lend all they have to a neighbour at first, and get their part in the end.

#include "collectives/reduce_scatter_halving.hpp"

#include <algorithm>
#include <vector>

#include "collectives/halving.hpp"
#include "collectives/node_parts.hpp"
#include "collectives/part_order.hpp"
#include "collectives/words.hpp"
#include "groups/doubling.hpp"

namespace espalier::collectives {

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
    for (const Stretch& s : stretches_)
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
  std::vector<Stretch> stretches_;
  NodeParts parts_;
};

}  // namespace

void build_halving_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  HalvingScatter(builder, problem, choice).build();
}

}  // namespace espalier::collectives
