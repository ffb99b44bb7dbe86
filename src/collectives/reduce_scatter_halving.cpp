// Leaders keep the nodes' parts such that every round's half is one stretch (part_order.hpp); near first:
//
//     node 0   [ 0 2 | 1 3 ]  ◄── 1 3 │ 0 2 ──►  node 1     round 0: the right half goes to odd nodes,
//              [ 0 | 2 ]                                    round 1: and the second part to nodes 2 and 3

#include "collectives/reduce_scatter_halving.hpp"

#include <algorithm>

#include "collectives/halving.hpp"
#include "collectives/node_parts.hpp"
#include "collectives/part_order.hpp"
#include "collectives/words.hpp"
#include "groups/doubling.hpp"

namespace espalier::collectives {

namespace {

class HalvingScatter {
 public:
  HalvingScatter(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        order_(derive_part_order(builder.topology(), problem)),
        parts_(builder, problem, choice, 2 * end()) {}

  void build() {
    const int half = order_.nodes() / 2, mine = order_.slice_of(builder_.node().value), kept = mine < half ? 0 : half;
    combine(half - kept);
    if (parts_.is_leader())
      exchange(kept);
    else
      combine(kept);
    parts_.hand_out(begin(mine));
    parts_.end();
  }

 private:
  Bytes begin(int slice) const { return order_.cuts()[static_cast<std::size_t>(slice)]; }
  Bytes end() const { return order_.cuts().back(); }

  /// Half of all slices.
  void combine(int first) {
    for (int slice = first; slice < first + order_.nodes() / 2; ++slice)
      parts_.combine(order_.node_of(slice), begin(slice));
  }

  /// The half that stays is combined while the other one is under way.
  void exchange(int kept) {
    LeaderSum sum(builder_, problem_, {Buffer::scratch, 0}, {Buffer::scratch, end()});
    Halving halving(builder_, sum, smp::Grain(problem_), order_.cuts(), circles());
    halving.start_halving(0);
    combine(kept);
    halving.finish_halving(0);
    for (int round = 1; round < halving.rounds(); ++round) {
      halving.start_halving(round);
      halving.finish_halving(round);
    }
  }

  /// Partners by round.
  std::vector<Halving::Circle> circles() const {
    std::vector<Halving::Circle> circles;
    for (const groups::Circle& circle : groups::derive_circles(builder_.node().value, order_.nodes(), 2)) {
      circles.push_back({{}, circle.position});
      for (const int node : circle.nodes) circles.back().ranks.push_back(parts_.leader_of(node));
    }
    if (order_.is_far_first()) std::reverse(circles.begin(), circles.end());
    return circles;
  }

  Builder& builder_;
  const Problem& problem_;
  PartOrder order_;
  NodeParts parts_;
};

}  // namespace

void build_halving_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  HalvingScatter(builder, problem, choice).build();
}

}  // namespace espalier::collectives
