// Allreduce by groups of masters: each of a node's g masters owns a slice of the vector. It folds what the node's ranks
// bring to its slice, combines it with the other nodes' masters of the same slice, and hands the result out:
//
//     node 0   [ 0* 1  2* 3 ]     slice 0: folded by 0 and 4, exchanged 0 ↔ 4      phase 1  fold on the node
//     node 1   [ 4* 5  6* 7 ]     slice 1: folded by 2 and 6, exchanged 2 ↔ 6      phase 2  among masters of a slice
//                                                                                  phase 3  everything to everyone
//
// All cores fold and all connections are in use at the same time; each carries 1/g of what one leader's would.
//
// Segments go through the phases one behind the other. Messages of one are on the wire while the node folds the next
// one and hands out the one before:
//
//     beat          0    1    2    3    4    5    6    7        stride 2: a segment sets out every other beat, and its
//     segment 0     f    f    x0   x1   x2   x3   h    h        four rounds x overlap with two bites of folding, f, of
//     segment 1               f    f    x0   x1   x2   x3 …     the next, and with other segments' rounds; bites of
//     segment 2                         f    f    x0   x1 …     handing out, h, follow

#include "collectives/group_allreduce.hpp"

#include <algorithm>
#include <deque>

#include "collectives/leader_exchange.hpp"
#include "collectives/leader_sum.hpp"
#include "collectives/masters_fold.hpp"
#include "collectives/words.hpp"
#include "smp/share.hpp"

namespace espalier::collectives {

using plan::Exchange;

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
        grain_(problem),
        among_masters_(choice),
        groups_(choice.groups),
        cell_(choice.cell),
        masters_(builder.topology(), problem, choice),
        turns_(builder.topology(), masters_, builder.node()),
        phases_(builder, MastersFold::slots_for(problem, choice)),
        fold_(builder, problem, choice, masters_, phases_),
        mine_(masters_.groups_of(builder.me())),
        segment_(segment_of(choice)),
        segments_(static_cast<int>((problem.bytes + segment_ - 1) / segment_)) {
    among_masters_.between = between_of(choice.exchange);
    rounds_ = exchange_rounds(among_masters_, builder.topology().nodes());
    const int under_way = choice.connections == 0 ? rounds_ : std::min(rounds_, choice.connections);
    stride_ = segments_ == 1 ? 1 : (rounds_ + under_way - 1) / under_way;
    widest_ = grain_.round_up(smp::Slices(grain_, segment_, groups_).bytes(0));
    spare_ = grain_.round_up(exchange_spare(grain_, among_masters_, widest_, builder.topology().nodes()));
    for (int group = 0; group < groups_; ++group)
      leaders_.push_back([this, group](int node) { return masters_.of(node, group); });
  }

  void run() {
    const Bytes sums = static_cast<Bytes>(banks()) * static_cast<Bytes>(mine_.size());
    builder_.need_scratch(fold_.scratch_bytes() + sums * (widest_ + spare_));
    for (int beat = 0; beat < (segments_ + 1) * stride_ + rounds_; ++beat) {
      for_each_segment(beat, stride_, rounds_ + 1, [&](int segment, int round) { exchange(segment, round); });
      for_each_segment(beat, 0, stride_, [&](int segment, int bite) { fold(segment, bite); });
      for_each_segment(beat, stride_ + rounds_, stride_, [&](int segment, int bite) { hand_out(segment, bite); });
    }
  }

 private:
  Bytes segment_of(const Choice& choice) const {
    if (choice.segment == 0) return problem_.bytes;
    return std::min(problem_.bytes, std::max(grain_.bytes(), grain_.round_down(choice.segment)));
  }

  /// The segments that do in this beat one of the `count` things that a segment does from its beat `first` on, and
  /// which, counted from 0. The oldest segment first.
  template <class Do>
  void for_each_segment(int beat, int first, int count, Do act) {
    const int since = beat - first;
    if (since < 0) return;
    const int oldest = since < count ? 0 : (since - count) / stride_ + 1;
    for (int segment = oldest; segment < segments_ && segment * stride_ <= since; ++segment)
      act(segment, since - segment * stride_);
  }

  smp::Range slice(int segment, int group) const {
    const Bytes offset = static_cast<Bytes>(segment) * segment_;
    const smp::Slices slices(grain_, std::min(segment_, problem_.bytes - offset), groups_);
    return {Buffer::output, offset + slices.begin(group), slices.bytes(group)};
  }

  /// A slice's part of one beat: of `stride_` equal ones, none but the last smaller than a piece.
  smp::Range bite_of(const smp::Range& slice, int bite, Bytes piece) const {
    const Bytes equal = (slice.bytes + static_cast<Bytes>(stride_) - 1) / static_cast<Bytes>(stride_);
    const Bytes unit = std::max(grain_.round_up(equal), piece);
    const Bytes begin = std::min(slice.bytes, static_cast<Bytes>(bite) * unit);
    return {slice.buffer, slice.offset + begin, std::min(unit, slice.bytes - begin)};
  }

  void fold(int segment, int bite) {
    builder_.begin_phase("phase 1");
    std::vector<GroupOperand> operands;
    for (int group = 0; group < groups_; ++group) {
      const smp::Range whole = slice(segment, group), part = bite_of(whole, bite, fold_.slot());
      const Bytes sum = sum_of(segment, group) + part.offset - whole.offset;
      operands.push_back({part.offset, {Buffer::scratch, sum, part.bytes}});
    }
    fold_.run(operands);
  }

  /// Finishes the round before and starts this one; those of all slices of this rank at once.
  void exchange(int segment, int round) {
    builder_.begin_phase("phase 2");
    if (round == 0) under_way_.push_back({segment, exchanges_of(segment)});
    const auto own =
        std::find_if(under_way_.begin(), under_way_.end(), [&](const UnderWay& it) { return it.segment == segment; });
    for (const auto& it : own->exchanges) {
      if (round > 0) it->finish(round - 1);
      if (round < rounds_) it->start(round);
    }
    if (round == rounds_) under_way_.pop_front();
  }

  void hand_out(int segment, int bite) {
    builder_.begin_phase("phase 3");
    for (int turn = 0; turn < turns_.count(); ++turn)
      smp::share_stretches(builder_, phases_, turns_.stretches(turn, [&](int group) {
        return bite_of(slice(segment, group), bite, cell_);
      }));
  }

  std::vector<std::unique_ptr<LeaderExchange>> exchanges_of(int segment) {
    std::vector<std::unique_ptr<LeaderExchange>> all;
    for (const int group : mine_) {
      const smp::Range own = slice(segment, group);
      const Bytes sum = sum_of(segment, group);
      if (own.bytes > 0)
        all.push_back(make_exchange(builder_, problem_, among_masters_, leaders_[static_cast<std::size_t>(group)],
                                    {own.offset, own.bytes, {Buffer::scratch, sum}, sum + widest_}));
    }
    return all;
  }

  /// Segments that are being folded or exchanged at the same time.
  int banks() const { return std::min(segments_, 1 + (rounds_ + stride_ - 1) / stride_); }
  /// Where in scratch this rank's sum of a slice lies, and behind it what others send for it.
  Bytes sum_of(int segment, int group) const {
    const auto own = std::find(mine_.begin(), mine_.end(), group) - mine_.begin();
    const auto place = static_cast<Bytes>(segment % banks()) * mine_.size() + static_cast<Bytes>(own);
    return fold_.scratch_bytes() + place * (widest_ + spare_);
  }

  struct UnderWay {
    int segment;
    std::vector<std::unique_ptr<LeaderExchange>> exchanges;  ///< of my slices
  };

  Builder& builder_;
  const Problem& problem_;
  smp::Grain grain_;
  Choice among_masters_;
  int groups_;
  Bytes cell_;
  Masters masters_;
  MasterTurns turns_;
  smp::Phases phases_;
  MastersFold fold_;
  std::vector<int> mine_;
  Bytes segment_;
  int segments_;
  int rounds_ = 0;
  int stride_ = 1;    ///< beats between a segment and the next
  Bytes widest_ = 0;  ///< slice, and what others send for it
  Bytes spare_ = 0;
  std::vector<LeaderOf> leaders_;  ///< by group
  std::deque<UnderWay> under_way_;
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
  if (choice.exchange == Exchange::direct && choice.radix > 2 && !problem.is_commutative)
    return "operands that must stay in order are divided by two: use radix=2";
  if (const std::string why = why_no_slots(problem, choice); !why.empty()) return why;
  return why_no_reduction(topology, problem, choice, 1);
}

}  // namespace espalier::collectives
