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

#include "base/bytes.hpp"
#include "collectives/allreduce.hpp"
#include "collectives/leader_sum.hpp"
#include "collectives/masters.hpp"
#include "smp/phases.hpp"
#include "smp/reduce_fold.hpp"
#include "smp/reduce_grain.hpp"

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

/// The part of a cell that carries one group's slice: all groups' lie side by side.
Bytes slot_of(const smp::Grain& grain, const Choice& choice) {
  return grain.round_down(choice.cell / static_cast<Bytes>(choice.groups));
}

Choice with_slots(const smp::Grain& grain, Choice choice) {
  choice.cell = slot_of(grain, choice) * static_cast<Bytes>(choice.groups);
  return choice;
}

class GroupAllreduce {
 public:
  GroupAllreduce(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        problem_(problem),
        choice_(choice),
        grain_(problem),
        slot_(slot_of(grain_, choice)),
        masters_(builder.topology(), problem, choice),
        phases_(builder, with_slots(grain_, choice)),
        fold_(builder, problem, smp::Fold::Source::cells, slot_, 0) {
    for (const Rank rank : builder.topology().ranks_on(builder.node())) groups_of_.push_back(masters_.groups_of(rank));
  }

  void run() {
    const Bytes whole =
        choice_.segment == 0 ? problem_.bytes : std::max(grain_.bytes(), grain_.round_down(choice_.segment));
    const Bytes segment = std::min(whole, problem_.bytes);
    const Bytes spare = smp::Fold::scratch_bytes(slot_);
    const smp::Slices widest(grain_, segment, choice_.groups);
    builder_.need_scratch(spare + (mine().empty() ? 0 : widest.bytes(0)));
    for (Bytes offset = 0; offset < problem_.bytes; offset += segment) {
      const Bytes bytes = std::min(segment, problem_.bytes - offset);
      const smp::Slices slices(grain_, bytes, choice_.groups);
      builder_.begin_phase("phase 1");
      fold(offset, slices);
      builder_.begin_phase("phase 2");
      exchange(offset, slices, spare);
      builder_.begin_phase("phase 3");
      hand_out(offset, slices);
    }
  }

 private:
  const std::vector<int>& mine() const { return groups_of(builder_.local()); }
  const std::vector<int>& groups_of(LocalRank rank) const { return groups_of_[static_cast<std::size_t>(rank.value)]; }
  bool is_mine(int group) const { return masters_.of(builder_.node().value, group) == builder_.me(); }

  /// What of a group's slice travels in its slot of piece `index`: a stretch of the slice.
  smp::Range part(const smp::Slices& slices, int group, Bytes index) const {
    const Bytes done = index * slot_, slice = slices.bytes(group);
    return {Buffer::input, slices.begin(group) + done, done < slice ? std::min(slot_, slice - done) : 0};
  }

  void fold(Bytes offset, const smp::Slices& slices) {
    if (builder_.node_size() == 1) {
      for (const int group : mine()) copy_own(offset + slices.begin(group), slices.bytes(group));
      return;
    }
    const Bytes pieces = (slices.bytes(0) + slot_ - 1) / slot_;
    const Bytes cell = slot_ * static_cast<Bytes>(choice_.groups);
    phases_.run_together(
        pieces * cell,
        [&](Bytes begin, Bytes, auto put) {
          for (int group = 0; group < choice_.groups; ++group) {
            const smp::Range from = part(slices, group, begin / cell);
            if (from.bytes > 0 && !is_mine(group))
              put(smp::Range{Buffer::input, offset + from.offset, from.bytes}, static_cast<Bytes>(group) * slot_);
          }
        },
        [&](Bytes begin, auto await, Bytes window) {
          for (const int group : mine()) {
            const smp::Range own = part(slices, group, begin / cell);
            if (own.bytes == 0) continue;
            await();
            fold_.run(builder_.node_size() - 1, offset + own.offset, window + static_cast<Bytes>(group) * slot_,
                      {Buffer::output, offset + own.offset, own.bytes});
          }
        });
  }

  void copy_own(Bytes begin, Bytes bytes) { builder_.copy(Buffer::input, begin, Buffer::output, begin, bytes); }

  void exchange(Bytes offset, const smp::Slices& slices, Bytes spare) {
    Choice among_masters = choice_;
    among_masters.between = between_of(choice_.exchange);
    for (const int group : mine())
      if (slices.bytes(group) > 0)
        combine_leaders(builder_, problem_, among_masters, [&](int node) { return masters_.of(node, group); },
                        {offset + slices.begin(group), slices.bytes(group), spare});
  }

  void hand_out(Bytes offset, const smp::Slices& slices) {
    if (builder_.node_size() == 1) return;
    std::size_t turns = 0;
    for (const std::vector<int>& groups : groups_of_) turns = std::max(turns, groups.size());
    for (std::size_t turn = 0; turn < turns; ++turn) hand_out(offset, slices, turn);
  }

  void hand_out(Bytes offset, const smp::Slices& slices, std::size_t turn) {
    const auto stretch = [&](LocalRank rank) {
      const std::vector<int>& groups = groups_of(rank);
      if (turn >= groups.size()) return smp::Range{Buffer::output, 0, 0};
      return smp::Range{Buffer::output, offset + slices.begin(groups[turn]), slices.bytes(groups[turn])};
    };
    const LocalRank me = builder_.local();
    phases_.run([&](LocalRank rank) { return stretch(rank).bytes; },
                [&](Bytes begin, Bytes bytes, auto put) {
                  put(smp::Range{Buffer::output, stretch(me).offset + begin, bytes}, 0);
                },
                [&](LocalRank writer, Bytes begin, Bytes bytes, auto get) {
                  const Bytes at = stretch(writer).offset + begin;
                  if (writer != me) get(smp::Range{Buffer::output, at, bytes}, smp::Source{0, Buffer::output, at});
                });
  }

  Builder& builder_;
  const Problem& problem_;
  Choice choice_;
  smp::Grain grain_;
  Bytes slot_;
  Masters masters_;
  std::vector<std::vector<int>> groups_of_;  ///< by local rank, which speaks for them
  smp::Phases phases_;
  smp::Fold fold_;
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
  const smp::Grain grain(problem);
  if (slot_of(grain, choice) == 0)
    return "a cell must hold " + format_bytes(grain.bytes() * static_cast<Bytes>(choice.groups)) +
           " at least: whole, aligned elements of every group";
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::collectives
