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

#include <algorithm>
#include <deque>

#include "algorithms/parts/leader_exchange.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/parts/masters_fold.hpp"
#include "algorithms/row.hpp"
#include "smp/move/share.hpp"

namespace espalier::algorithms::allreduce_multi_group {

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

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) GroupAllreduce(builder, problem, choice).run();
}

std::string limits(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
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

/// An exchange among the masters of all groups of a node at once.
struct Exchanged {
  double way = 0;      ///< one master's rounds, had it the link for itself
  double busy = 0;     ///< what they cost its processor
  double serial = 0;   ///< what all masters' messages occupy the link for
  double longest = 0;  ///< in one round
  int rounds = 0;

  void add(const Exchanged& round, int times = 1) {
    way += times * round.way, busy += times * round.busy, serial += times * round.serial;
    rounds += times;
    longest = std::max(longest, round.longest);
  }
  /// Until the last master has its result: in the first rounds masters wait for each other, then they take turns.
  double time(const Scene& s) const {
    const double groups = s.choice.groups;
    return std::max(way + (serial + (groups - 1) * longest) / groups, serial + s.network.delay());
  }
};

/// A round in which each of the groups sends `count` messages, a node's `bytes` together, to nodes about `distance`
/// away, and combines as many.
Exchanged round_of(const Scene& s, double distance, double bytes, int count, double combined) {
  const int groups = s.choice.groups, own = (groups + s.on_node - 1) / s.on_node * count;
  const double serial = std::max({groups * count * s.is.gap, bytes / s.is.link_rate, bytes * s.crowding.at(distance)});
  const double adding = own * s.node.combine(combined), calls = 2 * own * s.is.overhead;
  const double held = std::max(0.0, s.network.carried(bytes / (groups * count)) - serial);  // by its connection alone
  return {s.is.latency + calls + adding + held, calls + adding, serial, serial, 1};
}

Exchanged exchange_of(const Scene& s, double bytes) {
  const double slice = bytes / s.choice.groups;
  const int doublings = cost::rounds_of(s.nodes + 1) - 1;
  Exchanged all;
  if (s.choice.exchange == plan::Exchange::ring) {
    all.add(round_of(s, 1, bytes / s.nodes, 1, slice / s.nodes), s.nodes - 1);
    all.add(round_of(s, 1, bytes / s.nodes, 1, 0), s.nodes - 1);
    return all;
  }
  if ((1 << doublings) < s.nodes) all.add(round_of(s, 1, bytes, 1, slice)), all.add(round_of(s, 1, bytes, 1, 0));
  if (s.choice.exchange == plan::Exchange::recursive_doubling) {
    for (int i = 0; i < doublings; ++i) all.add(round_of(s, 1 << i, bytes, 1, slice));
    return all;
  }
  for (int left = 1 << doublings, size = 0; left > 1; left /= size) {
    size = std::min(left, 1 << (cost::rounds_of(s.choice.radix + 1) - 1));
    const double others = static_cast<double>(size - 1) / size;
    const double common = static_cast<double>(left) / (1 << doublings);
    const double distance = size / (2 * common);
    all.add(round_of(s, distance, common * others * bytes, size - 1, common * slice / size));
    all.add(round_of(s, distance, common * others * bytes, size - 1, 0));
  }
  return all;
}

/// Segments go through folding, exchange and handing out one behind the other; a rank's own work is done in between.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_to_all(s.bytes);
  const double segments = s.segments(), slice = s.segment() / s.choice.groups;
  const int own = (s.choice.groups + s.on_node - 1) / s.on_node;
  const double cell = static_cast<double>(s.choice.cell), slot = cell / s.choice.groups;
  const Exchanged exchange = exchange_of(s, s.segment());
  const int others = s.choice.groups < s.on_node ? s.choice.groups : s.choice.groups - own;  // of who is no master
  double fold = own * s.node.copy(slice), share = 0;
  if (s.on_node > 1) {
    const double pieces = std::ceil(slice / slot), piece = slice / pieces;
    const double waits = s.choice.cells > 1 ? 1 : 2 - 1 / pieces;
    fold = pieces *
           (others * s.node.put(piece) + waits * s.node.flag() + own * (s.on_node - 1) * s.node.combine_cell(piece));
    const double parts = std::ceil(slice / cell), part = slice / parts;
    share = parts * (own * s.node.put(part) + s.node.flag() + others * s.node.get(part));
  }
  const int under_way = s.choice.connections == 0 ? exchange.rounds : std::min(s.choice.connections, exchange.rounds);
  const double period = std::max({fold + share + exchange.busy, exchange.serial, exchange.time(s) / under_way});
  return fold + exchange.time(s) + share + (segments - 1) * period;
}

/// Every rank folds and exchanges a slice for its node, or four ranks do; where ranks have cores, and a node has more
/// than one. Long cells, since each holds slots of all groups. Dividing by four takes half as many rounds as halving.
void propose(Candidates& candidates, const Algorithm&, Choice choice) {
  const int most = std::min(candidates.topology().largest_node(), 64);
  if (candidates.is_oversubscribed() || most == 1) return;
  choice.radix = candidates.problem().is_commutative ? 4 : 2;
  for (const int groups : {most, 4}) {
    choice.groups = groups;
    for (const Bytes segment : {Bytes{0}, Bytes{64} << 10, Bytes{256} << 10}) {
      choice.segment = segment;
      if ((segment == 0 || segment < candidates.problem().bytes) && groups <= most) candidates.add_long_cells(choice);
    }
    if (groups == 4) break;  // once is enough
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::allreduce,
    .between = "multi_group",
    .place = 5,
    .source = "Bayatpour et al. 2017 (data partitioning, multi-leader)",
    .summary =
        "g masters per node each fold a g-th of the vector for their node, combine it with the other nodes' masters of "
        "the same slice in a ring, by recursive doubling or (direct) dividing it by radix and back, and hand it out; "
        "segments overlap, as many of them between the nodes as connections allow",
    .knobs = "groups exchange=direct|ring|recursive_doubling radix connections segment cell cells leaders",
    .build = build,
    .limits = limits,
    .propose = propose,
    .way = in_rounds,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::allreduce_multi_group
