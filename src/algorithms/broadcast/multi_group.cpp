// Broadcast by groups of masters: each of a node's g masters carries every g-th segment of the message, along a tree of
// its group's masters, over connections of its own.
//
//     root's node   [ 0* 1  2* 3 ]     segments 0, 2, …:  0 → 4 → 8      (exchange=ring: a chain of nodes)
//     node 1        [ 4* 5  6* 7 ]     segments 1, 3, …:  2 → 6 → 10
//     node 2        [ 8* 9 10*11 ]
//
// In round r the masters have segments r g … r g + g - 1, side by side in the message. On the root's node the root
// writes them for everyone, masters included; elsewhere each master writes its own when it has come and is on its way
// to the next node.

#include <algorithm>
#include <deque>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/masters.hpp"
#include "algorithms/parts/node_tree.hpp"
#include "algorithms/prices/node_masters.hpp"
#include "algorithms/row.hpp"
#include "smp/move/share.hpp"

namespace espalier::algorithms::broadcast_multi_group {

using plan::Exchange;

namespace {

/// Receives posted before they are needed, sends left unfinished to each child.
constexpr std::size_t segments_ahead = 4;

/// The tree of nodes that an exchange means for one message: a ring cut open, a binomial tree, or all at once.
Choice tree_of(Choice choice) {
  choice.radix = 2;
  choice.between = choice.exchange == Exchange::direct ? Between::flat
                   : choice.exchange == Exchange::ring ? Between::chain
                                                       : Between::knomial;
  return choice;
}

/// The message in rounds of one segment for each group.
class Rounds {
 public:
  Rounds(Bytes bytes, const Choice& choice)
      : bytes_(bytes),
        groups_(static_cast<Bytes>(choice.groups)),
        segment_(choice.segment > 0 ? choice.segment : (bytes + groups_ - 1) / groups_) {}

  int count() const { return static_cast<int>((bytes_ + groups_ * segment_ - 1) / (groups_ * segment_)); }
  smp::Range whole(int round) const {
    const Bytes begin = static_cast<Bytes>(round) * groups_ * segment_;
    return {Buffer::output, begin, std::min(groups_ * segment_, bytes_ - begin)};
  }
  /// May be empty in the last round.
  smp::Range segment(int round, int group) const {
    const Bytes begin = (static_cast<Bytes>(round) * groups_ + static_cast<Bytes>(group)) * segment_;
    return {Buffer::output, begin, begin < bytes_ ? std::min(segment_, bytes_ - begin) : 0};
  }

 private:
  Bytes bytes_;
  Bytes groups_;
  Bytes segment_;
};

/// One master's messages in all groups that it speaks for, in the order of segments on both sides of every connection.
class GroupRelay {
 public:
  GroupRelay(Builder& builder, const NodeTree& tree, const Masters& masters, const Rounds& rounds, const Choice& choice)
      : builder_(builder),
        tree_(tree),
        masters_(masters),
        rounds_(rounds),
        mine_(masters.groups_of(builder.me())),
        receives_(builder, mine_.size() * segments_ahead),
        sends_(builder, choice.connections > 0
                            ? static_cast<std::size_t>(choice.connections)
                            : std::max<std::size_t>(1, mine_.size() * segments_ahead * tree.branch().children.size())) {
  }

  void receive(int round) {
    for (; posted_ < rounds_.count() && posted_ < round + static_cast<int>(segments_ahead); ++posted_) post(posted_);
    for (const int group : mine_)
      if (rounds_.segment(round, group).bytes > 0) receives_.finish_oldest();
  }

  /// Children take turns from group to group, so that no node is every group's first target.
  void send(int round) {
    const std::vector<int>& children = tree_.branch().children;
    for (const int group : mine_)
      for (std::size_t i = 0; i < children.size(); ++i)
        send(rounds_.segment(round, group), group, children[(i + static_cast<std::size_t>(group)) % children.size()]);
  }

  void end() { sends_.finish_all(); }

 private:
  void post(int round) {
    for (const int group : mine_) {
      const smp::Range segment = rounds_.segment(round, group);
      const Rank parent = masters_.of(tree_.node_at(tree_.branch().parent), group);
      if (segment.bytes > 0) receives_.add(builder_.recv(parent, segment.buffer, segment.offset, segment.bytes));
    }
  }

  void send(const smp::Range& segment, int group, int child) {
    if (segment.bytes == 0) return;
    sends_.make_room();
    sends_.add(builder_.send(masters_.of(tree_.node_at(child), group), segment.buffer, segment.offset, segment.bytes));
  }

  Builder& builder_;
  const NodeTree& tree_;
  const Masters& masters_;
  const Rounds& rounds_;
  std::vector<int> mine_;
  int posted_ = 0;
  InFlight receives_;
  InFlight sends_;
};

class GroupBroadcast {
 public:
  GroupBroadcast(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        root_(builder.topology().local_rank(problem.root)),
        is_root_(builder.me() == problem.root),
        masters_(builder.topology(), problem, choice),
        turns_(builder.topology(), masters_, builder.node()),
        tree_(builder.topology(), problem, tree_of(choice), builder.node()),
        rounds_(problem.bytes, choice),
        relay_(builder, tree_, masters_, rounds_, choice),
        phases_(builder, choice) {}

  void run() {
    for (int round = 0; round < rounds_.count(); ++round) tree_.is_root() ? hand_on(round) : take_in(round);
    relay_.end();
    phases_.settle();
  }

 private:
  /// On the root's node: the root needs to wait for nobody, other masters for their segments.
  void hand_on(int round) {
    std::vector<smp::Range> stretches(static_cast<std::size_t>(builder_.node_size()), {Buffer::output, 0, 0});
    stretches[static_cast<std::size_t>(root_.value)] = rounds_.whole(round);
    if (is_root_) relay_.send(round);
    smp::share_stretches(builder_, phases_, stretches);
    if (!is_root_) relay_.send(round);
  }

  void take_in(int round) {
    relay_.receive(round);
    relay_.send(round);
    for (int turn = 0; turn < turns_.count(); ++turn)
      smp::share_stretches(builder_, phases_,
                           turns_.stretches(turn, [&](int group) { return rounds_.segment(round, group); }));
  }

  Builder& builder_;
  LocalRank root_;  ///< on its own node
  bool is_root_;
  Masters masters_;
  MasterTurns turns_;
  NodeTree tree_;
  Rounds rounds_;
  GroupRelay relay_;
  smp::Phases phases_;
};

void build(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes > 0) GroupBroadcast(builder, problem, choice).run();
}

std::string limits(const topology::Topology& topology, const Problem&, const Choice& choice) {
  if (topology.nodes() == 1) return "one node has no masters that hand on to each other: use knomial";
  if (choice.exchange == Exchange::bruck)
    return "one message goes along a chain (ring), a binomial tree (recursive_doubling) or to all at once (direct)";
  return "";
}

/// Rounds of a segment for each group. On the root's node the root writes them for all masters; elsewhere masters write
/// their own.
double price(const Scene& s) {
  const NodeMasters masters(s);
  const double most = masters.groups * (s.choice.segment > 0 ? static_cast<double>(s.choice.segment) : s.bytes);
  const double rounds = std::max(1.0, std::ceil(s.bytes / most)), segment = s.bytes / (rounds * masters.groups);
  const bool is_flat = s.choice.exchange == Exchange::direct, is_chain = s.choice.exchange == Exchange::ring;
  const int hops = is_flat ? 1 : is_chain ? s.nodes - 1 : cost::rounds_of(s.nodes);
  const double degree = is_chain ? 1 : is_flat ? s.nodes - 1 : hops;
  const double link = std::max({masters.groups * degree * s.network.serial(segment),
                                masters.turns * s.network.carried(segment), masters.turns * degree * s.is.overhead});
  const double hop = s.network.delay() + (is_flat ? link
                                                  : std::max(masters.groups * s.network.serial(segment),
                                                             masters.turns * s.network.carried(segment)));
  const cost::Phase shown{.stretch = masters.groups * segment,
                          .run = masters.groups * segment,
                          .readers = static_cast<double>(s.on_node - 1),
                          .is_both = false};
  const cost::Phase spread = masters.spread(s, segment);
  const double node = std::max(s.node.phase_work(shown), masters.turns * s.node.phase_work(spread) + s.is.overhead);
  return (masters.count > 1 ? s.node.phase(shown) : 0) + hops * hop + (rounds - 1) * std::max(link, node) +
         masters.turns * s.node.phase(spread);
}

/// Where one connection does not fill the link: elsewhere groups only share out work, of which a broadcast has little.
/// One group has simpler forms.
void propose(Candidates& candidates, const Algorithm& algorithm, Choice choice) {
  if (!candidates.are_flows_held()) return;
  for (const int groups : candidates.numbers_of_groups()) {
    if (groups == 1) continue;
    choice.groups = groups;
    candidates.vary_exchange(algorithm, choice, true);
  }
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::broadcast,
    .between = "multi_group",
    .place = 6,
    .source = "after Qian, Rashti, Afsahi 2008, sections 5.3 and 8",
    .summary =
        "g masters per node each carry every g-th segment over connections of their own, along a chain of nodes "
        "(ring), a binomial tree (recursive_doubling) or from the root's node to all (direct)",
    .knobs = "groups exchange=direct|ring|recursive_doubling connections segment within cell cells leaders",
    .build = build,
    .limits = limits,
    .propose = propose,
    .way = over_trunks,
    .price = price,
    .is_cut = true,
};

}  // namespace espalier::algorithms::broadcast_multi_group
