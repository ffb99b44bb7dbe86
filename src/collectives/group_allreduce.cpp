// Allreduce by groups of masters: each of a node's g masters owns a slice of the vector. It folds what the node's ranks
// bring to its slice, combines it with the other nodes' masters of the same slice, and hands the result out:
//
//     node 0   [ 0* 1  2* 3 ]     slice 0: folded by 0 and 4, exchanged 0 ↔ 4      phase 1  fold on the node
//     node 1   [ 4* 5  6* 7 ]     slice 1: folded by 2 and 6, exchanged 2 ↔ 6      phase 2  among masters of a slice
//                                                                                  phase 3  everything to everyone
//
// All cores fold and all connections are in use at the same time; each carries 1/g of what one leader's would.

#include "collectives/group_allreduce.hpp"

#include <algorithm>

#include "collectives/allreduce.hpp"
#include "collectives/leader_sum.hpp"
#include "collectives/masters_fold.hpp"
#include "smp/share.hpp"

namespace espalier::collectives {

using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Exchange;
using plan::Problem;

namespace {

/// Direct: every byte goes to whoever folds it and back, after Rabenseifner.
Between between_of(Exchange exchange) {
  if (exchange == Exchange::ring) return Between::ring;
  return exchange == Exchange::direct ? Between::rabenseifner : Between::recursive_doubling;
}

class GroupAllreduce {
 public:
  GroupAllreduce(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        choice_(choice),
        masters_(builder.topology(), problem, choice),
        turns_(builder.topology(), masters_, builder.node()),
        phases_(builder, MastersFold::slots_for(problem, choice)),
        fold_(builder, problem, choice, masters_, phases_),
        mine_(masters_.groups_of(builder.me())) {}

  void run() {
    const smp::Grain grain(problem_);
    const Bytes whole =
        choice_.segment == 0 ? problem_.bytes : std::max(grain.bytes(), grain.round_down(choice_.segment));
    const Bytes segment = std::min(whole, problem_.bytes);
    const smp::Slices widest(grain, segment, choice_.groups);
    builder_.need_scratch(fold_.scratch_bytes() + (mine_.empty() ? 0 : widest.bytes(0)));
    for (Bytes offset = 0; offset < problem_.bytes; offset += segment) {
      const smp::Slices slices(grain, std::min(segment, problem_.bytes - offset), choice_.groups);
      const auto slice_of = [&](int group) {
        return smp::Range{Buffer::output, offset + slices.begin(group), slices.bytes(group)};
      };
      builder_.begin_phase("phase 1");
      fold(slice_of);
      builder_.begin_phase("phase 2");
      exchange(slice_of);
      builder_.begin_phase("phase 3");
      for (int turn = 0; turn < turns_.count(); ++turn)
        smp::share_stretches(builder_, phases_, turns_.stretches(turn, slice_of));
    }
  }

 private:
  template <class SliceOf>
  void fold(SliceOf slice_of) {
    std::vector<GroupOperand> operands;
    for (int group = 0; group < choice_.groups; ++group) operands.push_back({slice_of(group).offset, slice_of(group)});
    fold_.run(operands);
  }

  template <class SliceOf>
  void exchange(SliceOf slice_of) {
    Choice among_masters = choice_;
    among_masters.between = between_of(choice_.exchange);
    for (const int group : mine_)
      if (const smp::Range slice = slice_of(group); slice.bytes > 0)
        combine_leaders(builder_, problem_, among_masters, [&](int node) { return masters_.of(node, group); },
                        {slice.offset, slice.bytes, fold_.scratch_bytes()});
  }

  Builder& builder_;
  const Problem& problem_;
  Choice choice_;
  Masters masters_;
  MasterTurns turns_;
  smp::Phases phases_;
  MastersFold fold_;
  std::vector<int> mine_;
};

}  // namespace

void build_group_allreduce(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) GroupAllreduce(builder, problem, choice).run();
}

std::string why_no_group_allreduce(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (topology.nodes() == 1) return "one node has no masters that exchange: use rabenseifner";
  if (choice.within != plan::Within::cells) return "masters fold what lies in cells: use within=cells";
  if (choice.exchange == Exchange::bruck)
    return "slices are combined by recursive_doubling, in a ring, or (direct) halved and doubled back";
  if (choice.exchange == Exchange::ring && !problem.is_commutative) return "a ring changes the order of operands";
  if (const std::string why = why_no_slots(problem, choice); !why.empty()) return why;
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::collectives
