// Allgather by groups of masters: each node's ranks divide into groups; the masters of a group exchange their shares
// over all their connections at once, and every master hands its node what its group has brought.
//
//     node 0   [ 0* 1 | 2* 3 ]        group 0: 0, 4, 8      phase 1  shares to their masters        shared memory
//     node 1   [ 4* 5 | 6* 7 ]        group 1: 2, 6, 10     phase 2  among the masters of a group   network
//     node 2   [ 8* 9 |10*11 ]                              phase 3  everything to everyone         shared memory
//
// The forms under the paper's names move what the paper's Table 1 says, no less: all ranks write and read all data
// through shared memory, masters too. multi_group_lean does with less (see there).

#include "collectives/group_allgather.hpp"

#include <algorithm>

#include "collectives/in_flight.hpp"
#include "groups/rounds.hpp"
#include "groups/shares.hpp"
#include "smp/exchange.hpp"
#include "smp/phases.hpp"

namespace espalier::collectives {

using groups::Nodes;
using groups::Round;
using groups::Shares;
using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// The shares of one group: node by node, one behind the other.
class GroupShares {
 public:
  GroupShares(const topology::Topology& topology, const smp::NodeMajor& order, int group, int groups) : group_(group) {
    begin_.reserve(static_cast<std::size_t>(topology.nodes()) + 1);
    begin_.push_back(0);
    for (int n = 0; n < topology.nodes(); ++n) {
      const Shares shares(topology.size_of(NodeId(n)), groups);
      const int before = topology.ranks_before(NodeId(n));
      const Bytes first = order.begin(before + shares.first(group));
      masters_.push_back(topology.ranks_on(NodeId(n))[static_cast<std::size_t>(shares.master(group).value)]);
      sources_.push_back(first);
      begin_.push_back(begin_.back() + order.begin(before + shares.last(group)) - first);
    }
  }

  int group() const { return group_; }
  Bytes begin(int node) const { return begin_[static_cast<std::size_t>(node)]; }
  Bytes bytes(const Nodes& nodes) const { return begin(nodes.first + nodes.count) - begin(nodes.first); }
  Bytes total() const { return begin_.back(); }
  Rank master(int node) const { return masters_[static_cast<std::size_t>(node)]; }

  /// Calls `part(from, to, bytes)` for each run of a stretch of the group's data that is one run in node-major order.
  template <class Part>
  void for_each_part(Bytes offset, Bytes bytes, Part part) const {
    const Bytes end = offset + bytes;
    auto node = static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), offset) - begin_.begin()) - 1;
    for (; offset < end; ++node) {
      const Bytes stop = std::min(end, begin_[node + 1]);
      if (stop > offset) part(offset, sources_[node] + (offset - begin_[node]), stop - offset);
      offset = std::max(offset, stop);
    }
  }

 private:
  int group_;
  std::vector<Bytes> begin_;
  std::vector<Bytes> sources_;  ///< where a node's share begins in node-major order
  std::vector<Rank> masters_;
};

/// A master's messages in one group; `base` is where the group's data begin in its scratch.
class GroupExchange {
 public:
  GroupExchange(Builder& builder, const GroupShares& shares, Bytes base, std::size_t connections)
      : builder_(builder),
        shares_(shares),
        base_(base),
        nodes_(builder.topology().nodes()),
        receives_(builder, static_cast<std::size_t>(nodes_) + 1),
        sends_(builder, connections) {}

  /// Own share to all others at once, as far as connections may be active together; the right-hand neighbour comes
  /// first, so that nobody is everybody's target.
  void start_direct() {
    const int node = builder_.node().value;
    for (int distance = 1; distance < nodes_; ++distance)
      receive((node - distance + nodes_) % nodes_, {(node - distance + nodes_) % nodes_, 1});
    for (int distance = 1; distance < nodes_; ++distance) send((node + distance) % nodes_, {node, 1});
  }

  void run_rounds(const std::vector<Round>& rounds) {
    for (const Round& round : rounds) {
      for (const Nodes& nodes : round.incoming) receive(round.from, nodes);
      for (const Nodes& nodes : round.outgoing) send(round.to, nodes);
      receives_.finish_all();
    }
  }

  void finish() {
    receives_.finish_all();
    sends_.finish_all();
  }

 private:
  void receive(int from, const Nodes& nodes) {
    if (nodes.count > 0 && shares_.bytes(nodes) > 0)
      receives_.add(builder_.recv(shares_.master(from), Buffer::scratch, base_ + shares_.begin(nodes.first),
                                  shares_.bytes(nodes)));
  }
  void send(int to, const Nodes& nodes) {
    if (nodes.count == 0 || shares_.bytes(nodes) == 0) return;
    sends_.make_room();
    sends_.add(
        builder_.send(shares_.master(to), Buffer::scratch, base_ + shares_.begin(nodes.first), shares_.bytes(nodes)));
  }

  Builder& builder_;
  const GroupShares& shares_;
  Bytes base_;
  int nodes_;
  InFlight receives_;
  InFlight sends_;
};

std::vector<Round> derive_rounds(plan::Exchange exchange, int node, int count) {
  if (exchange == plan::Exchange::ring) return groups::derive_ring(node, count);
  if (exchange == plan::Exchange::bruck) return groups::derive_bruck(node, count);
  return groups::derive_recursive_doubling(node, count);
}

/// Sends that a rank may have under way; 0 in the choice: all of them.
std::size_t connections_of(const Choice& choice, int nodes) {
  return static_cast<std::size_t>(choice.connections > 0 ? choice.connections : nodes);
}

/// The form of a choice: how many groups, and what they exchange by.
Choice normalize(Choice choice) {
  const bool is_single = choice.between == Between::single_group_ring || choice.between == Between::single_group_direct;
  if (is_single) choice.groups = 1;
  if (choice.between == Between::single_group_ring) choice.exchange = plan::Exchange::ring;
  if (choice.between == Between::single_group_direct) choice.exchange = plan::Exchange::direct;
  return choice;
}

class GroupAllgather {
 public:
  GroupAllgather(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder),
        choice_(normalize(choice)),
        order_(builder.topology(), problem),
        shares_(builder.node_size(), choice_.groups),
        is_lean_(choice.between == Between::multi_group_lean),
        phases_(builder, smp::Cells(choice)) {
    for (int group = 0; group < choice_.groups; ++group)
      groups_.emplace_back(builder.topology(), order_, group, choice_.groups);
    builder.need_scratch(data_of(builder.local()));
  }

  void run() {
    builder_.begin_phase("phase 1");
    is_lean_ ? share_blocks() : gather_shares();
    builder_.begin_phase("phase 2");
    exchange_groups();
    builder_.begin_phase(has_gathered_ || is_lean_ ? "phase 3" : "phase 2");
    is_lean_ ? spread_received() : spread({0, builder_.topology().nodes()});
  }

 private:
  int before() const { return builder_.topology().ranks_before(builder_.node()); }
  Bytes block_begin(LocalRank rank) const { return order_.begin(before() + rank.value); }
  Bytes block_bytes(LocalRank rank) const { return order_.begin(before() + rank.value + 1) - block_begin(rank); }
  Nodes own_node() const { return {builder_.node().value, 1}; }

  bool is_master_of(LocalRank rank, const GroupShares& group) const { return shares_.master(group.group()) == rank; }
  /// What a rank keeps in its scratch: all data of the groups that it speaks for.
  Bytes data_of(LocalRank rank) const { return bytes_of(rank, {0, builder_.topology().nodes()}); }
  /// The same of some nodes only.
  Bytes bytes_of(LocalRank rank, const Nodes& nodes) const {
    Bytes sum = 0;
    for (const GroupShares& group : groups_)
      if (is_master_of(rank, group)) sum += group.bytes(nodes);
    return sum;
  }

  /// Calls `visit(group, base)` for each group that the rank speaks for; `base`: where its data begin in the scratch.
  template <class Visit>
  void for_each_group_of(LocalRank rank, Visit visit) const {
    Bytes base = 0;
    for (const GroupShares& group : groups_) {
      if (!is_master_of(rank, group)) continue;
      visit(group, base);
      base += group.total();
    }
  }

  /// Where the block of a rank of this node lies in the scratch of its group's master, who is this rank.
  Bytes place_of(LocalRank rank) const {
    Bytes place = 0;
    for_each_group_of(builder_.local(), [&](const GroupShares& group, Bytes base) {
      if (group.group() == shares_.group_of(rank))
        place = base + group.begin(builder_.node().value) + block_begin(rank) -
                block_begin(LocalRank(shares_.first(group.group())));
    });
    return place;
  }

  bool is_alone(LocalRank rank) const {
    const int group = shares_.group_of(rank);
    return shares_.last(group) - shares_.first(group) == 1;
  }

  /// Phase 1: every rank writes its block, each master reads its group's. A share of one rank needs no shared memory.
  void gather_shares() {
    const LocalRank me = builder_.local();
    const auto bytes_of_rank = [&](LocalRank r) { return is_alone(r) ? 0 : block_bytes(r); };
    for (int r = 0; r < builder_.node_size(); ++r) has_gathered_ |= bytes_of_rank(LocalRank(r)) > 0;
    phases_.run(bytes_of_rank, {Buffer::input, 0, bytes_of_rank(me)},
                [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                  if (shares_.master(shares_.group_of(writer)) == me)
                    get({Buffer::scratch, place_of(writer) + offset, bytes}, 0);
                });
    if (is_alone(me)) builder_.copy(Buffer::input, 0, Buffer::scratch, place_of(me), block_bytes(me));
  }

  /// Phase 1 of the lean form: every rank writes its block and reads those of its neighbours, where they belong; nobody
  /// will have to write or read them again.
  void share_blocks() {
    const LocalRank me = builder_.local();
    const auto ranks = builder_.topology().ranks_on(builder_.node());
    const auto output_of = [&](LocalRank r) {
      return order_.in_rank_order().begin(ranks[static_cast<std::size_t>(r.value)]);
    };
    phases_.run([&](LocalRank r) { return block_bytes(r); }, {Buffer::input, 0, block_bytes(me)},
                [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                  if (writer != me) get({Buffer::output, output_of(writer) + offset, bytes}, 0);
                });
    builder_.copy(Buffer::input, 0, Buffer::output, output_of(me), block_bytes(me));
    for (int r = 0; r < builder_.node_size(); ++r) {
      const LocalRank rank(r);
      if (shares_.master(shares_.group_of(rank)) == me)
        builder_.copy(Buffer::output, output_of(rank), Buffer::scratch, place_of(rank), block_bytes(rank));
    }
  }

  void exchange_groups() {
    const int nodes = builder_.topology().nodes();
    for_each_group_of(builder_.local(), [&](const GroupShares& group, Bytes base) {
      GroupExchange exchange(builder_, group, base, connections_of(choice_, nodes));
      if (choice_.exchange == plan::Exchange::direct)
        exchange.start_direct();
      else
        exchange.run_rounds(derive_rounds(choice_.exchange, builder_.node().value, nodes));
      exchange.finish();
    });
  }

  /// Phase 3: every master writes its groups' data of these nodes, everyone reads them where they belong. Groups of one
  /// master follow each other, in its scratch with all nodes' data, hence a turn for each.
  void spread(const Nodes& nodes) {
    int turns = 0;
    for (int r = 0; r < builder_.node_size(); ++r) turns = std::max(turns, groups_of(LocalRank(r)));
    for (int turn = 0; turn < turns; ++turn) spread_turn(nodes, turn);
  }

  int groups_of(LocalRank rank) const {
    int count = 0;
    for_each_group_of(rank, [&](const GroupShares&, Bytes) { ++count; });
    return count;
  }

  void spread_turn(const Nodes& nodes, int turn) {
    // Which group each rank writes, and from where.
    std::vector<std::pair<const GroupShares*, Bytes>> written(static_cast<std::size_t>(builder_.node_size()));
    for (int r = 0; r < builder_.node_size(); ++r) {
      int number = 0;
      for_each_group_of(LocalRank(r), [&](const GroupShares& group, Bytes base) {
        if (number++ == turn) written[static_cast<std::size_t>(r)] = {&group, base + group.begin(nodes.first)};
      });
    }
    const auto group_of = [&](LocalRank r) { return written[static_cast<std::size_t>(r.value)].first; };
    const auto bytes_of_rank = [&](LocalRank r) { return group_of(r) == nullptr ? 0 : group_of(r)->bytes(nodes); };
    const LocalRank me = builder_.local();
    phases_.run(bytes_of_rank, {Buffer::scratch, written[static_cast<std::size_t>(me.value)].second, bytes_of_rank(me)},
                [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                  const Bytes first = group_of(writer)->begin(nodes.first) + offset;
                  const auto read = [&](Bytes at, Bytes source, Bytes part) {
                    order_.for_each_part(source, part, [&](Bytes from, Bytes to, Bytes run) {
                      get({Buffer::output, to, run}, at - first + (from - source));
                    });
                  };
                  if (writer == me && is_lean_) return;
                  group_of(writer)->for_each_part(first, bytes, read);
                });
  }

  /// The lean phase 3: all but the own node's, and masters put their own data in place themselves.
  void spread_received() {
    const int node = builder_.node().value, nodes = builder_.topology().nodes();
    for (const Nodes& others : {Nodes{0, node}, Nodes{node + 1, nodes - node - 1}}) {
      if (others.count == 0) continue;
      spread(others);
      for_each_group_of(builder_.local(), [&](const GroupShares& group, Bytes base) {
        group.for_each_part(group.begin(others.first), group.bytes(others), [&](Bytes at, Bytes source, Bytes part) {
          order_.for_each_part(source, part, [&](Bytes from, Bytes to, Bytes run) {
            builder_.copy(Buffer::scratch, base + at + (from - source), Buffer::output, to, run);
          });
        });
      });
    }
  }

  Builder& builder_;
  Choice choice_;
  smp::NodeMajor order_;
  Shares shares_;
  bool is_lean_;
  smp::Phases phases_;
  std::vector<GroupShares> groups_;
  bool has_gathered_ = false;
};

/// Each node's data go to one master on every other node, from as many ranks as there are groups: group i gathers on
/// the nodes n with n mod groups = i, to a master that ends with everything.
///
///     node 0   [ 0* 1  2  3 ]      group 0 (ranks 0, 4, 8, 12) gathers on node 0: master 0
///     node 1   [ 4  5* 6  7 ]      group 1 (ranks 1, 5, 9, 13) gathers on node 1: master 5
///     node 2   [ 8  9 10*11 ]      each rank sends its whole node's data, so that all cores drive the network
class GatherBased {
 public:
  GatherBased(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder), choice_(choice), order_(builder.topology(), problem), phases_(builder, smp::Cells(choice)) {
    is_master_ = builder.local() == member(builder.node().value, builder.node().value);
    base_ = is_master_ ? order_.begin_of(builder.node().value) : 0;
    builder.need_scratch(is_master_ ? order_.total() : node_bytes(builder.node().value));
  }

  void run() {
    builder_.begin_phase("phase 1");
    share_blocks();
    builder_.begin_phase("phase 2");
    gather_groups();
    builder_.begin_phase("phase 3");
    spread();
  }

 private:
  Bytes node_bytes(int node) const { return order_.begin_of(node + 1) - order_.begin_of(node); }
  /// Who on `node` belongs to the group that gathers on node `target`.
  LocalRank member(int node, int target) const {
    return LocalRank(target % choice_.groups % builder_.topology().size_of(NodeId(node)));
  }
  Rank rank_of(int node, LocalRank local) const {
    return builder_.topology().ranks_on(NodeId(node))[static_cast<std::size_t>(local.value)];
  }

  void share_blocks() {
    const int before = builder_.topology().ranks_before(builder_.node());
    const auto bytes_of = [&](LocalRank r) {
      return order_.begin(before + r.value + 1) - order_.begin(before + r.value);
    };
    phases_.run(bytes_of, {Buffer::input, 0, bytes_of(builder_.local())},
                [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                  const Bytes place = order_.begin(before + writer.value) - order_.begin(before);
                  get({Buffer::scratch, base_ + place + offset, bytes}, 0);
                });
  }

  void gather_groups() {
    const int node = builder_.node().value, nodes = builder_.topology().nodes();
    InFlight receives(builder_, static_cast<std::size_t>(nodes) + 1);
    InFlight sends(builder_, connections_of(choice_, nodes));
    for (int distance = 1; is_master_ && distance < nodes; ++distance) {
      const int from = (node - distance + nodes) % nodes;
      if (node_bytes(from) > 0)
        receives.add(
            builder_.recv(rank_of(from, member(from, node)), Buffer::scratch, order_.begin_of(from), node_bytes(from)));
    }
    for (int distance = 1; distance < nodes; ++distance) {
      const int to = (node + distance) % nodes;
      if (member(node, to) != builder_.local() || node_bytes(node) == 0) continue;
      sends.make_room();
      sends.add(builder_.send(rank_of(to, member(to, to)), Buffer::scratch, base_, node_bytes(node)));
    }
    receives.finish_all();
    sends.finish_all();
  }

  void spread() {
    const LocalRank master = member(builder_.node().value, builder_.node().value);
    phases_.run([&](LocalRank r) { return r == master ? order_.total() : 0; },
                {Buffer::scratch, 0, is_master_ ? order_.total() : 0},
                [&](LocalRank, Bytes offset, Bytes bytes, auto get) {
                  order_.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes part) {
                    get({Buffer::output, to, part}, from - offset);
                  });
                });
  }

  Builder& builder_;
  Choice choice_;
  smp::NodeMajor order_;
  smp::Phases phases_;
  bool is_master_ = false;
  Bytes base_ = 0;
};

}  // namespace

void build_group_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    return smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  GroupAllgather(builder, problem, choice).run();
}

void build_gather_based_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    return smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  GatherBased(builder, problem, choice).run();
}

}  // namespace espalier::collectives
