// Reduce_scatter by groups of masters: a group is a run of ranks on every node, and its masters answer for the blocks
// of these ranks. Node by node, each master folds what its node brings for the group's ranks there and sends it to the
// group's master there; what arrives for its own ranks it adds up and hands out:
//
//     node 0   [ 0* 1 | 2* 3 ]     group 0: blocks of 0, 1, 4, 5     phase 1  fold for every node     shared memory
//     node 1   [ 4* 5 | 6* 7 ]     group 1: blocks of 2, 3, 6, 7     phase 2  among masters           network
//                                                                    phase 3  blocks to their ranks   shared memory
//
// All cores fold, and g (N - 1) connections per node are in use at once; what one master folds is under way while it
// folds for the next node.

#include "algorithms/allgather/group_data.hpp"
#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/leader_sum.hpp"
#include "algorithms/parts/masters_fold.hpp"
#include "algorithms/prices/node_masters.hpp"
#include "algorithms/row.hpp"
#include "groups/distances.hpp"

namespace espalier::algorithms::reduce_scatter_multi_group {

namespace {

/// Where a master's scratch holds what of one group: the shares of all nodes as its own node has folded them, one
/// behind the other, then the own share as each of the other nodes has.
class GroupLayout {
 public:
  GroupLayout(const GroupShares& group, int node, int nodes, Bytes base)
      : group_(group), node_(node), nodes_(nodes), base_(base) {}

  smp::Range folded(int node) const {
    return {Buffer::scratch, base_ + group_.begin(node), group_.begin(node + 1) - group_.begin(node)};
  }
  /// The own share as `node` has folded it.
  smp::Range operand(int node) const {
    if (node == node_) return folded(node);
    const Bytes own = folded(node_).bytes;
    return {Buffer::scratch, base_ + group_.total() + static_cast<Bytes>(node < node_ ? node : node - 1) * own, own};
  }
  /// Operands are added from the last node's down, so that they stay in order.
  smp::Range result() const { return operand(nodes_ - 1); }
  Bytes end() const { return base_ + group_.total() + static_cast<Bytes>(nodes_ - 1) * folded(node_).bytes; }

 private:
  const GroupShares& group_;
  int node_;
  int nodes_;
  Bytes base_;
};

class GroupReduceScatter {
 public:
  GroupReduceScatter(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        topology_(builder.topology()),
        order_(topology_, problem),
        shares_on_node_(builder.node_size(), choice.groups),
        masters_(topology_, problem, choice),
        turns_(topology_, masters_, builder.node()),
        phases_(builder, MastersFold::slots_for(problem, choice)),
        fold_(builder, problem, choice, masters_, phases_),
        mine_(masters_.groups_of(builder.me())),
        receives_(builder),
        sends_(builder, choice) {
    groups_.reserve(static_cast<std::size_t>(choice.groups));
    for (int g = 0; g < choice.groups; ++g) groups_.emplace_back(topology_, order_, masters_, g);
    lay_out();
  }

  void run() {
    builder_.begin_phase("phase 2");
    for (const int group : mine_) expect(group);
    for (const int distance : groups::spread_distances(topology_.nodes())) {
      const int to = (node() + distance) % topology_.nodes();
      builder_.begin_phase("phase 1");
      fold(to);
      builder_.begin_phase("phase 2");
      for (const int group : mine_) send(group, to);
    }
    builder_.begin_phase("phase 1");
    fold(node());  // while the others are under way
    builder_.begin_phase("phase 2");
    receives_.finish_all();
    for (const int group : mine_) add(layout(group));
    builder_.begin_phase("phase 3");
    hand_out();
    sends_.finish_all();
  }

 private:
  int node() const { return builder_.node().value; }
  const GroupLayout& layout(int group) const { return layouts_[static_cast<std::size_t>(group)]; }
  const GroupShares& shares(int group) const { return groups_[static_cast<std::size_t>(group)]; }

  /// Each of a master's groups behind the other, behind what folding needs.
  void lay_out() {
    std::vector<Bytes> ends(static_cast<std::size_t>(builder_.node_size()), fold_.scratch_bytes());
    for (const GroupShares& group : groups_) {
      Bytes& end = ends[static_cast<std::size_t>(topology_.local_rank(group.master(node())).value)];
      end = layouts_.emplace_back(group, node(), topology_.nodes(), end).end();
    }
    builder_.need_scratch(ends[static_cast<std::size_t>(builder_.local().value)]);
  }

  void expect(int group) {
    for (int from = 0; from < topology_.nodes(); ++from) {
      const smp::Range into = layout(group).operand(from);
      if (from != node() && into.bytes > 0)
        receives_.add(builder_.recv(shares(group).master(from), into.buffer, into.offset, into.bytes));
    }
  }

  void send(int group, int to) {
    const smp::Range from = layout(group).folded(to);
    if (from.bytes == 0) return;
    sends_.make_room();
    sends_.add(builder_.send(shares(group).master(to), from.buffer, from.offset, from.bytes));
  }

  /// What this node brings for another's ranks; groups side by side, each in runs that are one stretch of the vector.
  void fold(int to) {
    std::vector<std::vector<GroupOperand>> runs;
    std::size_t most = 0;
    for (int group = 0; group < static_cast<int>(groups_.size()); ++group) {
      runs.push_back(runs_of(group, to));
      most = std::max(most, runs.back().size());
    }
    for (std::size_t i = 0; i < most; ++i) {
      std::vector<GroupOperand> operands;
      for (const std::vector<GroupOperand>& of : runs)
        operands.push_back(i < of.size() ? of[i] : GroupOperand{0, {Buffer::scratch, 0, 0}});
      fold_.run(operands);
    }
  }

  std::vector<GroupOperand> runs_of(int group, int to) const {
    std::vector<GroupOperand> runs;
    const Bytes base = layout(group).folded(0).offset;
    shares(group).for_each_part(shares(group).stretch({to, 1}), [&](Bytes at, Bytes from, Bytes bytes) {
      order_.for_each_part(from, bytes, [&](Bytes source, Bytes in_vector, Bytes run) {
        runs.push_back({in_vector, {Buffer::scratch, base + at + (source - from), run}});
      });
    });
    return runs;
  }

  void add(const GroupLayout& of) {
    const smp::Range sum = of.result();
    for (int from = topology_.nodes() - 2; from >= 0; --from)
      builder_.reduce(Buffer::scratch, of.operand(from).offset, Buffer::scratch, sum.offset, sum.bytes);
  }

  /// Masters show their groups' shares to their node; each rank takes its own block. A master that has its own copies
  /// it.
  void hand_out() {
    const int group = shares_on_node_.group_of(builder_.local());
    const LocalRank master = masters_.local_of(node(), group), me = builder_.local();
    const smp::Range block = block_in(group);
    if (master == me) builder_.copy(Buffer::scratch, block.offset, Buffer::output, 0, block.bytes);
    for (int turn = 0; turn < turns_.count() && builder_.node_size() > 1; ++turn) {
      const std::vector<smp::Range> shown = turns_.stretches(turn, [&](int it) { return shown_of(it); });
      const auto of = [&](LocalRank rank) { return shown[static_cast<std::size_t>(rank.value)]; };
      const bool is_there = master != me && of(master).offset == layout(group).result().offset;
      phases_.run([&](LocalRank rank) { return of(rank).bytes; },
                  [&](Bytes offset, Bytes bytes, auto put) {
                    put(smp::Range{Buffer::scratch, of(me).offset + offset, bytes}, 0);
                  },
                  [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                    if (!is_there || writer != master) return;
                    const Bytes piece = of(writer).offset + offset;
                    const Bytes first = std::max(piece, block.offset);
                    const Bytes last = std::min(piece + bytes, block.offset + block.bytes);
                    if (first < last)
                      get(smp::Range{Buffer::output, first - block.offset, last - first},
                          smp::Source{first - piece, Buffer::scratch, first});
                  });
    }
  }

  /// This rank's block in its group's result.
  smp::Range block_in(int group) const {
    const int before = topology_.ranks_before(builder_.node()), me = before + builder_.local().value;
    const Bytes in_share = order_.begin(me) - order_.begin(before + shares_on_node_.first(group));
    return {Buffer::scratch, layout(group).result().offset + in_share, order_.begin(me + 1) - order_.begin(me)};
  }

  /// What a master shows of a group's result: nothing when all of it is its own.
  smp::Range shown_of(int group) const {
    const int first = shares_on_node_.first(group), count = shares_on_node_.last(group) - first;
    smp::Range shown = layout(group).result();
    if (count == 1 && masters_.local_of(node(), group) == LocalRank(first)) shown.bytes = 0;
    return shown;
  }

  Builder& builder_;
  const topology::Topology& topology_;
  smp::NodeMajor order_;
  groups::Shares shares_on_node_;
  Masters masters_;
  MasterTurns turns_;
  smp::Phases phases_;
  MastersFold fold_;
  std::vector<int> mine_;
  std::vector<GroupShares> groups_;
  std::vector<GroupLayout> layouts_;  ///< by group, in the scratch of this node's master
  InFlight receives_;
  InFlight sends_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (plan::Blocks(problem, builder.topology().ranks()).total() > 0) GroupReduceScatter(builder, problem, choice).run();
}

std::string limits(const topology::Topology& topology, const Problem& problem, const Choice& choice) {
  if (topology.nodes() == 1) return "one node has no masters that exchange: use pairwise";
  if (choice.within != plan::Within::cells) return "masters fold what lies in cells: use within=cells";
  if (const std::string why = why_no_slots(problem, choice); !why.empty()) return why;
  return why_no_reduction(topology, problem, choice, 1);
}

/// Masters fold for one node after the other; what is folded is on its way meanwhile.
double price(const Scene& s) {
  if (s.nodes == 1) return s.node.reduce_blocks(s.bytes);
  const NodeMasters masters(s);
  const int count = masters.count;
  const double share = s.of_node() / count, runs = s.is_blocked ? 1 : static_cast<double>(s.on_node) / count;
  const double fold = runs * s.node.fold_slices(share / runs, count, count) + s.is.overhead;
  const double wire = fold + s.network.at_once(count * (s.nodes - 1.0), share) + s.network.delay();
  const double carried = fold + s.network.carried(share) + s.network.delay();
  const cost::Phase shown{.stretch = share,
                          .run = s.bytes,
                          .writers = static_cast<double>(count),
                          .taken = 1 / (share / s.bytes),
                          .readers = static_cast<double>(s.on_node)};
  return std::max({s.nodes * fold, wire, carried}) + (s.nodes - 1) * (s.is.overhead + s.node.combine(share)) +
         s.node.copy(s.bytes) + (count < s.on_node ? s.node.phase(shown) : 0);
}

/// Groups divide the work of combining: of large nodes half of the ranks, or all (8 nodes x 64 ranks, blocks of 1K: 8
/// groups 542 us, 32 groups 296; simulated). One group has simpler forms.
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  if (candidates.is_oversubscribed() && !candidates.are_flows_held()) return;
  std::set<int> numbers = candidates.numbers_of_groups();
  const int all = std::min(64, candidates.topology().largest_node());
  if (all > 8) numbers.insert({all / 2, all});
  for (const int groups : numbers) {
    if (groups == 1) continue;
    choice.groups = groups;
    candidates.vary_exchange(algorithm, choice, false);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::reduce_scatter,
    .between = "multi_group",
    .place = 4,
    .source = "after Qian, Rashti, Afsahi 2008, sections 5.3 and 8; Thakur, Rabenseifner, Gropp 2005, section 4.3",
    .summary =
        "as pairwise, by g masters per node, each for the blocks of its group's ranks: g (N - 1) connections per node, "
        "all cores fold",
    .knobs = "groups connections cell cells leaders",
    .build = build,
    .limits = limits,
    .propose = propose,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::reduce_scatter_multi_group
