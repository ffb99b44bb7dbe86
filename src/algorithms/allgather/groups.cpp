// Allgather by groups of masters: each node's ranks divide into groups; the masters of a group exchange their shares
// over all their connections at once, and every master hands its node what its group has brought.
//
//     node 0   [ 0* 1 | 2* 3 ]        group 0: 0, 4, 8      phase 1  shares to their masters        shared memory
//     node 1   [ 4* 5 | 6* 7 ]        group 1: 2, 6, 10     phase 2  among the masters of a group   network
//     node 2   [ 8* 9 |10*11 ]                              phase 3  everything to everyone         shared memory
//
// The forms under the paper's names move what the paper's Table 1 says, no less: all ranks write and read all data
// through shared memory, masters too, and a phase begins when the one before is over. multi_group_lean does with less,
// and spreads what has come while the rest is on the wire.

#include "algorithms/allgather/groups.hpp"

#include "algorithms/allgather/group_exchange.hpp"
#include "algorithms/words.hpp"
#include "smp/move/exchange.hpp"

namespace espalier::algorithms {

using groups::Nodes;
using groups::Round;

namespace {

/// What both forms have in common: the data, and this rank's exchange in each group that it speaks for.
class GroupAllgather {
 public:
  GroupAllgather(Builder& builder, const Problem& problem, const Choice& choice)
      : builder_(builder), choice_(choice), data_(builder, problem, choice) {
    data_.for_each_group_of(builder.local(),
                            [&](const GroupShares& group) { exchanges_.emplace_back(builder, data_, group, choice); });
    builder.need_scratch(data_.scratch_bytes(builder.local()));
  }

 protected:
  int nodes() const { return builder_.topology().nodes(); }
  std::vector<Round> rounds() const { return derive_rounds(choice_.exchange, builder_.node().value, nodes()); }
  Bytes bytes_of(LocalRank rank) const { return data_.place_in_output(rank).bytes; }
  bool is_direct() const { return choice_.exchange == plan::Exchange::direct; }

  void copy_own_block(const smp::Range& into) { builder_.copy(Buffer::input, 0, into.buffer, into.offset, into.bytes); }

  Builder& builder_;
  Choice choice_;
  GroupData data_;
  std::vector<GroupExchange> exchanges_;
};

class PaperForm : GroupAllgather {
 public:
  PaperForm(Builder& builder, const Problem& problem, const Choice& choice)
      : GroupAllgather(builder, problem, choice), spread_(builder, data_, choice, true) {}

  void run() {
    builder_.begin_phase("phase 1");
    gather_shares();
    builder_.begin_phase(has_gathered_ ? "phase 2" : "phase 1");
    for (GroupExchange& exchange : exchanges_) run(exchange);
    builder_.begin_phase(has_gathered_ ? "phase 3" : "phase 2");
    spread_.phases().settle();
    spread_.pass([&](const GroupShares& group) { return group.stretch({0, nodes()}); });
    spread_.phases().settle();
  }

 private:
  /// Phase 1: every rank writes its block, each master reads its group's. A share of one rank needs no shared memory.
  void gather_shares() {
    const LocalRank me = builder_.local();
    const auto written = [&](LocalRank r) { return data_.is_alone(r) ? 0 : bytes_of(r); };
    for (int r = 0; r < builder_.node_size(); ++r) has_gathered_ |= written(LocalRank(r)) > 0;
    spread_.phases().run(
        written,
        [&](Bytes offset, Bytes bytes, auto put) {
          put(smp::Range{Buffer::input, offset, bytes}, 0);
        },
        [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
          const GroupShares& group = data_.groups()[static_cast<std::size_t>(data_.group_of(writer))];
          if (data_.master_of(group) != me) return;
          const smp::Range place = data_.place_at_master(writer);
          get(smp::Range{place.buffer, place.offset + offset, bytes}, smp::Source{0, Buffer::input, offset});
        });
    if (data_.is_alone(me)) copy_own_block(data_.place_at_master(me));
  }

  void run(GroupExchange& exchange) {
    const std::vector<Round> rounds = this->rounds();
    if (is_direct()) exchange.start(rounds);
    for (const Round& round : rounds) {
      if (!is_direct()) exchange.start({&round, 1});
      if (!is_direct()) exchange.finish_receives();
    }
    exchange.finish_receives();
    exchange.finish_sends();
  }

  GroupSpread spread_;
  bool has_gathered_ = false;
};

/// Every rank reads its neighbours' blocks once and for all in phase 1; what a round has brought is spread while the
/// next one (direct: while all others) are under way; masters do not read what they have.
class LeanForm : GroupAllgather {
 public:
  LeanForm(Builder& builder, const Problem& problem, const Choice& choice)
      : GroupAllgather(builder, problem, choice), spread_(builder, data_, choice, false) {}

  void run() {
    builder_.begin_phase("phase 1");
    share_blocks();
    const std::vector<Round> rounds = this->rounds();
    if (is_direct())
      run_at_once(rounds);
    else if (choice_.exchange == plan::Exchange::ring)
      run_round(rounds);
    else
      run_in_turn(rounds);
    for (GroupExchange& exchange : exchanges_) exchange.finish_sends();
    spread_.phases().settle();
  }

 private:
  void share_blocks() {
    const LocalRank me = builder_.local();
    spread_.phases().run([&](LocalRank r) { return bytes_of(r); },
                         [&](Bytes offset, Bytes bytes, auto put) {
                           put(smp::Range{Buffer::input, offset, bytes}, 0);
                         },
                         [&](LocalRank writer, Bytes offset, Bytes bytes, auto get) {
                           const Bytes to = data_.place_in_output(writer).offset + offset;
                           if (writer != me)
                             get(smp::Range{Buffer::output, to, bytes}, smp::Source{0, Buffer::input, offset});
                         });
    copy_own_block(data_.place_in_output(me));
    for (int r = 0; data_.is_staged() && r < builder_.node_size(); ++r) stage(LocalRank(r));
  }

  /// A block of this rank's share from the output, where it is already, to where the network takes it.
  void stage(LocalRank rank) {
    const GroupShares& group = data_.groups()[static_cast<std::size_t>(data_.group_of(rank))];
    if (data_.master_of(group) != builder_.local()) return;
    const smp::Range from = data_.place_in_output(rank), into = data_.place_at_master(rank);
    builder_.copy(from.buffer, from.offset, into.buffer, into.offset, into.bytes);
  }

  void run_at_once(std::span<const Round> rounds) {
    start(rounds);
    for (const Round& round : rounds)
      for (const Nodes& nodes : round.incoming) pass(nodes, [&](const auto& segment_of) { await(segment_of); });
  }

  /// Round a ring every segment goes on as soon as it has come: the wire never waits for a whole share. Segments of
  /// groups with the same masters are received in the order in which they are sent on.
  void run_round(std::span<const Round> rounds) {
    builder_.begin_phase("phase 2");
    for (GroupExchange& exchange : exchanges_) exchange.receive(rounds.first(1));
    for (const Round& round : rounds.subspan(1))
      for_each_segment(round.incoming[0], [&](const auto& segment_of) {
        for_each_exchange([&](const GroupShares& group, GroupExchange& exchange) {
          exchange.receive(round.from, segment_of(group));
        });
      });
    for (GroupExchange& exchange : exchanges_) exchange.send(rounds.first(1));
    for (std::size_t i = 0; i < rounds.size(); ++i)
      pass(rounds[i].incoming[0], [&](const auto& segment_of) {
        await(segment_of);
        if (i + 1 == rounds.size()) return;
        for_each_exchange(
            [&](const GroupShares& group, GroupExchange& exchange) { exchange.send(rounds[i].to, segment_of(group)); });
      });
  }

  void run_in_turn(std::span<const Round> rounds) {
    const Round* before = nullptr;
    for (const Round& round : rounds) {
      start({&round, 1});
      if (before != nullptr) pass(*before);
      builder_.begin_phase("phase 2");
      for (GroupExchange& exchange : exchanges_) exchange.finish_receives();
      before = &round;
    }
    if (before != nullptr) pass(*before);
  }

  void start(std::span<const Round> rounds) {
    builder_.begin_phase("phase 2");
    for (GroupExchange& exchange : exchanges_) exchange.start(rounds);
  }

  void pass(const Round& round) {
    for (const Nodes& nodes : round.incoming) pass(nodes, [](const auto&) {});
  }

  /// The groups' shares of these nodes, segment by segment. `prepare(segment_of)` comes before each.
  template <class Prepare>
  void pass(const Nodes& nodes, Prepare prepare) {
    for_each_segment(nodes, [&](const auto& segment_of) {
      builder_.begin_phase("phase 2");
      prepare(segment_of);
      builder_.begin_phase("phase 3");
      spread_.pass(segment_of);
      if (!data_.is_staged()) return;
      data_.for_each_group_of(builder_.local(), [&](const GroupShares& group) { unstage(group, segment_of(group)); });
    });
  }

  /// Calls `visit(segment_of)` as often as the longest share of these nodes has segments: `segment_of(group)` is the
  /// group's next one, empty when it has no more.
  template <class Visit>
  void for_each_segment(const Nodes& nodes, Visit visit) const {
    if (nodes.count == 0) return;
    int count = 0;
    const auto segments = [&](const GroupShares& group) { return Segments(group.stretch(nodes), choice_.segment); };
    for (const GroupShares& group : data_.groups()) count = std::max(count, segments(group).count());
    for (int i = 0; i < count; ++i) visit([&](const GroupShares& group) { return segments(group).at(i); });
  }

  template <class SegmentOf>
  void await(const SegmentOf& segment_of) {
    for_each_exchange([&](const GroupShares& group, GroupExchange& exchange) {
      if (segment_of(group).bytes > 0) exchange.finish_segment();
    });
  }

  template <class Visit>
  void for_each_exchange(Visit visit) {
    auto exchange = exchanges_.begin();
    data_.for_each_group_of(builder_.local(), [&](const GroupShares& group) { visit(group, *exchange++); });
  }

  void unstage(const GroupShares& group, const GroupStretch& stretch) {
    data_.for_each_place(group, stretch, [&](Bytes at, Bytes to, Bytes bytes) {
      const smp::Range from = data_.place_of(group, at, to, bytes);
      builder_.copy(from.buffer, from.offset, Buffer::output, to, bytes);
    });
  }

  GroupSpread spread_;
};

}  // namespace

void build_group_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    return smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  PaperForm(builder, problem, choice).run();
}

void build_lean_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    return smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  LeanForm(builder, problem, choice).run();
}

}  // namespace espalier::algorithms
