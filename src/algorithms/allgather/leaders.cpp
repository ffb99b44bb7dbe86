// Allgather: each node's blocks go to its leader, leaders exchange whole nodes, and what arrives is spread on the node
// while the next round is on the wire.
//
//     node 0   ──[0]──► ──[0]──►            a ring hands each segment on as soon as it is there: its links never idle,
//     node 1        └──[0]──► ──[0]──►      however much the nodes' data differ
//
// Leaders hold the data node by node, so that a node's blocks are one message however the ranks are placed. Under block
// placement that is rank order already and the exchange runs in `output`; otherwise, or where doubling goes by another
// order of nodes (far first), it runs in `scratch`.

#include "algorithms/allgather/leaders.hpp"

#include <algorithm>
#include <functional>

#include "algorithms/parts/in_flight.hpp"
#include "algorithms/parts/node_order.hpp"
#include "algorithms/words.hpp"
#include "groups/far_first.hpp"
#include "groups/rounds.hpp"
#include "leaders/speakers.hpp"
#include "smp/move/collect.hpp"
#include "smp/move/exchange.hpp"
#include "smp/move/spread.hpp"

namespace espalier::algorithms {

using groups::Nodes;
using groups::Round;

namespace {

/// A message each way, its end, and two pieces for the node: what a round of a ring mostly emits.
constexpr std::size_t steps_per_round = 10;

bool goes_both_ways(const Choice& choice, int nodes) {
  return choice.between == Between::ring && nodes >= groups::two_way_nodes;
}

/// A ring in the order in which nodes are close to each other: its positions, then the nodes that sit there.
std::vector<Round> derive_ring(const Builder& builder, const Problem& problem, const Choice& choice) {
  const NodeOrder order(builder.topology(), problem, choice);
  const int position = order.position_of(builder.node().value), count = builder.topology().nodes();
  std::vector<Round> rounds = goes_both_ways(choice, count) ? groups::derive_two_way_ring(position, count)
                                                            : groups::derive_ring(position, count);
  for (Round& round : rounds) {
    round.to = order.node_at(round.to);
    round.from = order.node_at(round.from);
    for (Nodes* nodes : {&round.outgoing[0], &round.incoming[0]}) nodes->first = order.node_at(nodes->first);
  }
  return rounds;
}

/// By positions, where doubling meets far partners first: nodes in that order.
std::vector<int> derive_positions(int nodes, const Choice& choice) {
  return goes_far_first(choice) ? groups::derive_far_first(nodes) : std::vector<int>{};
}

/// `position` of this node, and the nodes by position unless they are as numbered.
std::vector<Round> derive_doubling(int position, int count, std::span<const int> node_at) {
  std::vector<Round> rounds = groups::derive_recursive_doubling(position, count);
  for (Round& round : rounds)
    for (int* partner : {&round.to, &round.from})
      if (!node_at.empty() && *partner >= 0) *partner = node_at[static_cast<std::size_t>(*partner)];
  return rounds;
}

std::vector<Round> derive_rounds(const Builder& builder, const Problem& problem, const Choice& choice, int position,
                                 std::span<const int> node_at) {
  const int count = builder.topology().nodes();
  if (choice.between == Between::ring) return derive_ring(builder, problem, choice);
  if (choice.between == Between::bruck) return groups::derive_bruck(position, count);
  return derive_doubling(position, count, node_at);
}

/// Where nodes' data lie in the leaders' buffers.
struct LeaderData {
  smp::NodeMajor order;

  Buffer buffer() const { return order.is_rank_order() ? Buffer::output : Buffer::scratch; }
  Bytes begin(const Nodes& nodes) const { return order.begin_of(nodes.first); }
  Bytes bytes(const Nodes& nodes) const {
    return nodes.count == 0 ? 0 : order.begin_of(nodes.first + nodes.count) - begin(nodes);
  }
};

/// One message.
struct Piece {
  Bytes begin = 0;
  Bytes bytes = 0;

  Bytes end() const { return begin + bytes; }
};

/// One leader's messages, rounds finished in the order in which they were started. Receives of a round are waited for
/// at its end, sends as late as possible.
class LeaderMessages {
 public:
  /// Messages have `segment` bytes at most; 0 sets no bound. What lies within `in_input` is sent from there.
  LeaderMessages(Builder& builder, const LeaderData& data, const leaders::Speakers& speakers, Bytes segment,
                 const Piece& in_input)
      : builder_(builder),
        data_(data),
        speakers_(speakers),
        segment_(segment),
        in_input_(in_input),
        receives_(builder),
        sends_(builder, sends_ahead) {}

  /// What arrives in a round, message by message; none is empty.
  std::vector<Piece> arrivals(const Round& round) const { return cut(round.incoming); }

  void start(const Round& round) {
    for (const Piece& piece : arrivals(round)) expect(round.from, piece);
    for (const Piece& piece : cut(round.outgoing)) send(round.to, piece);
  }
  void expect(int from, const Piece& piece) {
    receives_.add(builder_.recv(leader_of(from), data_.buffer(), piece.begin, piece.bytes));
  }
  void send(int to, const Piece& piece) {
    sends_.make_room();
    const bool is_input = piece.begin >= in_input_.begin && piece.end() <= in_input_.end();
    const Buffer buffer = is_input ? Buffer::input : data_.buffer();
    sends_.add(builder_.send(leader_of(to), buffer, piece.begin - (is_input ? in_input_.begin : 0), piece.bytes));
  }
  void finish_receive() { receives_.finish_oldest(); }
  void finish_sends() { sends_.finish_all(); }

 private:
  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }

  std::vector<Piece> cut(const Nodes (&parts)[2]) const {
    std::vector<Piece> pieces;
    for (const Nodes& nodes : parts)
      for (Bytes done = 0, whole = data_.bytes(nodes), length = 0; done < whole; done += length) {
        length = segment_ == 0 ? whole : std::min(segment_, whole - done);
        pieces.push_back({data_.begin(nodes) + done, length});
      }
    return pieces;
  }

  Builder& builder_;
  const LeaderData& data_;
  const leaders::Speakers& speakers_;
  Bytes segment_;
  Piece in_input_;
  InFlight receives_;
  InFlight sends_;
};

/// What a node does with its own blocks when they are under way to others, and with what has come from those.
struct Passing {
  std::function<void()> own;
  std::function<void(const Piece&)> pass;
};

/// What a round brought is spread while the next one is under way.
void run_exchange(const std::vector<Round>& rounds, LeaderMessages& exchange, bool is_leader, const Passing& node) {
  if (is_leader) exchange.start(rounds.front());
  node.own();
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const std::vector<Piece> arrivals = exchange.arrivals(rounds[i]);
    for (std::size_t k = 0; is_leader && k < arrivals.size(); ++k) exchange.finish_receive();
    if (is_leader && i + 1 < rounds.size()) exchange.start(rounds[i + 1]);
    for (const Piece& piece : arrivals) node.pass(piece);
  }
}

/// Round a ring what arrives in one round leaves `at_once` rounds later: message by message, each as soon as it is
/// there, and then it is spread. As many receipts stay open as a round has messages.
void run_ring(const std::vector<Round>& rounds, std::size_t at_once, LeaderMessages& exchange, bool is_leader,
              const Passing& node) {
  if (is_leader) exchange.start(rounds.front());
  node.own();
  for (std::size_t i = 1; is_leader && i < std::min(at_once, rounds.size()); ++i) exchange.start(rounds[i]);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    const Round* later = i + at_once < rounds.size() ? &rounds[i + at_once] : nullptr;
    const std::vector<Piece> arrivals = exchange.arrivals(rounds[i]);
    std::vector<Piece> expected;
    if (later != nullptr) expected = exchange.arrivals(*later);
    for (std::size_t k = 0; k < std::max(arrivals.size(), expected.size()); ++k) {
      const bool arrives = k < arrivals.size();
      if (is_leader && arrives) exchange.finish_receive();
      if (is_leader && k < expected.size()) exchange.expect(later->from, expected[k]);
      if (is_leader && arrives && later != nullptr) exchange.send(later->to, arrivals[k]);
      if (arrives) node.pass(arrivals[k]);
    }
  }
}

void copy_to_rank_order(Builder& builder, const LeaderData& data, const Piece& piece) {
  if (data.buffer() == Buffer::output) return;
  data.order.for_each_part(piece.begin, piece.bytes, [&](Bytes from, Bytes to, Bytes bytes) {
    builder.copy(Buffer::scratch, from, Buffer::output, to, bytes);
  });
}

void gather_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const std::vector<int> node_at = derive_positions(topology.nodes(), choice);
  const LeaderData data{smp::NodeMajor(topology, problem, node_at)};
  const leaders::Speakers speakers(topology, problem, choice.leaders);
  const LocalRank leader = speakers.local_of(builder.node());
  const bool is_leader = builder.local() == leader;
  if (is_leader && data.buffer() == Buffer::scratch) builder.need_scratch(data.order.total());
  const int position = data.order.position_of(builder.node());
  const auto collect = [&] {
    smp::collect_blocks(builder, choice, leader,
                        smp::NodeBlocks::from(data.order.begin_of(position), topology, builder.node(), data.order),
                        data.buffer());
  };
  // A block that also is put in order may lie where it goes: then it is collected first.
  const bool is_sent_as_given = builder.node_size() == 1 && data.buffer() == Buffer::output;
  if (!is_sent_as_given) collect();

  const bool is_late = is_spread_at_end(choice);
  smp::Spread spread(builder, choice, leader, is_late ? Buffer::output : data.buffer(),
                     is_late ? smp::Placement() : smp::Placement(data.order));
  const auto pass = [&](const Piece& piece) {
    if (piece.bytes > 0 && !is_late) spread.pass(piece.begin, piece.bytes);
    if (is_leader) copy_to_rank_order(builder, data, piece);
  };
  const Piece own{data.begin({position, 1}), data.bytes({position, 1})};
  const auto pass_own = [&] {
    if (is_sent_as_given) collect();
    pass(own);
  };
  const std::vector<Round> rounds = derive_rounds(builder, problem, choice, position, node_at);
  builder.expect_steps(rounds.size() * steps_per_round);
  const bool is_ring = choice.between == Between::ring;
  // The first message of a node's only rank is its own block, which need not be copied before.
  LeaderMessages exchange(builder, data, speakers, is_ring ? choice.segment : 0, is_sent_as_given ? own : Piece{});
  // The other way round a ring begins behind the first: if both shared the link in step, what they bring would come at
  // once, and the node be idle before.
  if (is_ring)
    run_ring(rounds, goes_both_ways(choice, topology.nodes()) ? 2 : 1, exchange, is_leader, {pass_own, pass});
  else
    run_exchange(rounds, exchange, is_leader, {pass_own, pass});
  if (is_late && data.order.total() > 0) spread.pass(0, data.order.total());
  if (is_leader) exchange.finish_sends();
  spread.end();
}

}  // namespace

void build_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  else
    gather_between_nodes(builder, problem, choice);
}

}  // namespace espalier::algorithms
