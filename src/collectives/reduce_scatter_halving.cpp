// Leaders keep the nodes' parts such that every round's half is one stretch: by node numbers read backwards.
//
//     node 0   [ 0 2 | 1 3 ]  ◄── 1 3 │ 0 2 ──►  node 1     round 0: the right half goes to odd nodes,
//              [ 0 | 2 ]                                    round 1: and the second part to nodes 2 and 3

#include "collectives/reduce_scatter_halving.hpp"

#include <bit>

#include "collectives/halving.hpp"
#include "collectives/node_parts.hpp"
#include "groups/doubling.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// The number whose `bits` lowest bits are those of another in reverse.
int reverse(int number, int bits) {
  int reversed = 0;
  for (int bit = 0; bit < bits; ++bit) reversed |= (number >> bit & 1) << (bits - 1 - bit);
  return reversed;
}

class HalvingScatter {
 public:
  HalvingScatter(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        nodes_(builder.topology().nodes()),
        bits_(std::countr_zero(static_cast<unsigned>(nodes_))),
        cuts_(cut(builder.topology(), problem)),
        parts_(builder, problem, choice, 2 * cuts_.back()) {}

  void build() {
    const int half = nodes_ / 2, mine = slice_of(builder_.node().value), kept = mine < half ? 0 : half;
    combine(half - kept);
    if (parts_.is_leader())
      exchange(kept);
    else
      combine(kept);
    parts_.hand_out(begin(mine));
    parts_.end();
  }

 private:
  std::vector<Bytes> cut(const topology::Topology& topology, const Problem& problem) const {
    const plan::Blocks blocks(problem, topology.ranks());
    std::vector<Bytes> cuts{0};
    for (int slice = 0; slice < nodes_; ++slice)
      cuts.push_back(cuts.back() + part_bytes(topology, blocks, node_of(slice)));
    return cuts;
  }

  int slice_of(int node) const { return reverse(node, bits_); }
  int node_of(int slice) const { return reverse(slice, bits_); }
  Bytes begin(int slice) const { return cuts_[static_cast<std::size_t>(slice)]; }

  /// Half of all slices.
  void combine(int first) {
    for (int slice = first; slice < first + nodes_ / 2; ++slice) parts_.combine(node_of(slice), begin(slice));
  }

  /// The half that stays is combined while the other one is under way.
  void exchange(int kept) {
    LeaderSum sum(builder_, problem_, {Buffer::scratch, 0}, {Buffer::scratch, cuts_.back()});
    std::vector<Halving::Circle> circles;
    for (const groups::Circle& circle : groups::derive_circles(builder_.node().value, nodes_, 2)) {
      circles.push_back({{}, circle.position});
      for (const int node : circle.nodes) circles.back().ranks.push_back(parts_.leader_of(node));
    }
    Halving halving(builder_, sum, smp::Grain(problem_), cuts_, std::move(circles));
    halving.start_halving(0);
    combine(kept);
    halving.finish_halving(0);
    for (int round = 1; round < halving.rounds(); ++round) {
      halving.start_halving(round);
      halving.finish_halving(round);
    }
  }

  Builder& builder_;
  const Problem& problem_;
  int nodes_;
  int bits_;
  std::vector<Bytes> cuts_;  ///< where slices begin, and the last one ends
  NodeParts parts_;
};

}  // namespace

void build_halving_scatter(Builder& builder, const Problem& problem, const Choice& choice) {
  HalvingScatter(builder, problem, choice).build();
}

}  // namespace espalier::collectives
