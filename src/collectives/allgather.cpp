// Allgather: each node's blocks go to its leader, leaders exchange whole nodes, and what arrives is spread on the node
// while the next round is on the wire.
//
// Leaders hold the data node by node, so that a node's blocks are one message however the ranks are placed. Under block
// placement that is rank order already and the exchange runs in `output`; otherwise it runs in `scratch`.

#include "collectives/allgather.hpp"

#include <algorithm>

#include "collectives/in_flight.hpp"
#include "collectives/node_order.hpp"
#include "groups/rounds.hpp"
#include "leaders/speakers.hpp"
#include "smp/collect.hpp"
#include "smp/exchange.hpp"
#include "smp/spread.hpp"

namespace espalier::collectives {

using groups::Nodes;
using groups::Round;
using plan::Between;
using plan::Buffer;
using plan::Builder;
using plan::Choice;
using plan::Problem;

namespace {

/// Sends left unfinished: bounds the slots of a ring over many nodes.
constexpr std::size_t sends_ahead = 16;
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

std::vector<Round> derive_rounds(const Builder& builder, const Problem& problem, const Choice& choice) {
  const int node = builder.node().value, count = builder.topology().nodes();
  if (choice.between == Between::ring) return derive_ring(builder, problem, choice);
  if (choice.between == Between::bruck) return groups::derive_bruck(node, count);
  return groups::derive_recursive_doubling(node, count);
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

/// One leader's messages, rounds finished in the order in which they were started. Receives of a round are waited for
/// at its end, sends as late as possible.
class LeaderExchange {
 public:
  LeaderExchange(Builder& builder, const LeaderData& data, const leaders::Speakers& speakers)
      : builder_(builder), data_(data), speakers_(speakers), receives_(builder), sends_(builder, sends_ahead) {}

  void start(const Round& round) {
    for (const Nodes& nodes : round.incoming)
      if (data_.bytes(nodes) > 0)
        receives_.add(builder_.recv(leader_of(round.from), data_.buffer(), data_.begin(nodes), data_.bytes(nodes)));
    for (const Nodes& nodes : round.outgoing)
      if (data_.bytes(nodes) > 0) send(leader_of(round.to), nodes);
  }

  void finish_receives(const Round& round) {
    for (const Nodes& nodes : round.incoming)
      if (data_.bytes(nodes) > 0) receives_.finish_oldest();
  }
  void finish_sends() { sends_.finish_all(); }

 private:
  Rank leader_of(int node) const { return speakers_.of(NodeId(node)); }

  void send(Rank to, const Nodes& nodes) {
    sends_.make_room();
    sends_.add(builder_.send(to, data_.buffer(), data_.begin(nodes), data_.bytes(nodes)));
  }

  Builder& builder_;
  const LeaderData& data_;
  const leaders::Speakers& speakers_;
  InFlight receives_;
  InFlight sends_;
};

void copy_to_rank_order(Builder& builder, const LeaderData& data) {
  if (data.buffer() == Buffer::output) return;
  data.order.for_each_part(0, data.order.total(), [&](Bytes from, Bytes to, Bytes bytes) {
    builder.copy(Buffer::scratch, from, Buffer::output, to, bytes);
  });
}

void build_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const LeaderData data{smp::NodeMajor(topology, problem)};
  const leaders::Speakers speakers(topology, problem, choice.leaders);
  const LocalRank leader = speakers.local_of(builder.node());
  const bool is_leader = builder.local() == leader;
  if (is_leader && data.buffer() == Buffer::scratch) builder.need_scratch(data.order.total());
  const int node = builder.node().value;
  smp::collect_blocks(builder, choice, leader,
                      smp::NodeBlocks::from(data.order.begin_of(node), topology, builder.node(), data.order),
                      data.buffer());

  smp::Spread spread(builder, choice, leader, data.buffer(), smp::Placement(data.order));
  LeaderExchange exchange(builder, data, speakers);
  const auto pass = [&](const Nodes& nodes) {
    if (data.bytes(nodes) > 0) spread.pass(data.begin(nodes), data.bytes(nodes));
  };
  const std::vector<Round> rounds = derive_rounds(builder, problem, choice);
  builder.expect_steps(rounds.size() * steps_per_round);
  std::size_t started = 0;
  const auto start_up_to = [&](std::size_t count) {
    for (; started < std::min(count, rounds.size()); ++started)
      if (is_leader) exchange.start(rounds[started]);
  };
  // What a round brought is spread while the next one is under way. The other way round a ring begins behind the first:
  // if both shared the link in step, what they bring would come at once, and the node be idle before.
  const std::size_t at_once = goes_both_ways(choice, topology.nodes()) ? 2 : 1;
  start_up_to(1);
  pass({node, 1});
  start_up_to(at_once);
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    if (is_leader) exchange.finish_receives(rounds[i]);
    start_up_to(i + 1 + at_once);
    for (const Nodes& nodes : rounds[i].incoming) pass(nodes);
  }
  if (is_leader) exchange.finish_sends();
  if (is_leader) copy_to_rank_order(builder, data);
  spread.end();
}

}  // namespace

void build_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (builder.topology().nodes() == 1)
    smp::exchange_blocks(builder, choice, plan::Blocks(problem, builder.topology().ranks()));
  else
    build_between_nodes(builder, problem, choice);
}

}  // namespace espalier::collectives
