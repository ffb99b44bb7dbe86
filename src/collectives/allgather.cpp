// Allgather: each node's blocks go to its leader, leaders exchange whole nodes, and what arrives is spread on the node
// while the next round is on the wire.
//
// Leaders hold the data node by node, so that a node's blocks are one message however the ranks are placed. Under block
// placement that is rank order already and the exchange runs in `output`; otherwise it runs in `scratch`.

#include "collectives/allgather.hpp"

#include <deque>

#include "groups/rounds.hpp"
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

constexpr LocalRank leader{0};
/// Sends left unfinished: bounds the slots of a ring over many nodes.
constexpr std::size_t sends_ahead = 16;
/// A message each way, its end, and two pieces for the node: what a round of a ring mostly emits.
constexpr std::size_t steps_per_round = 10;

std::vector<Round> derive_rounds(Between between, int node, int count) {
  if (between == Between::ring) return groups::derive_ring(node, count);
  if (between == Between::bruck) return groups::derive_bruck(node, count);
  return groups::derive_recursive_doubling(node, count);
}

/// Where nodes' data lie in the leaders' buffers.
class NodeMajor {
 public:
  NodeMajor(const topology::Topology& topology, Bytes block) : topology_(topology), block_(block) {}

  Buffer buffer() const { return topology_.is_blocked() ? Buffer::output : Buffer::scratch; }
  Bytes begin(int node) const { return static_cast<Bytes>(topology_.ranks_before(NodeId(node))) * block_; }
  Bytes bytes(const Nodes& nodes) const {
    const int last = nodes.first + nodes.count - 1;
    return begin(last) + static_cast<Bytes>(topology_.size_of(NodeId(last))) * block_ - begin(nodes.first);
  }
  Bytes total() const { return static_cast<Bytes>(topology_.ranks()) * block_; }
  smp::Placement placement() const {
    return topology_.is_blocked() ? smp::Placement{} : smp::Placement{topology_, block_};
  }

 private:
  const topology::Topology& topology_;
  Bytes block_;
};

/// One leader's messages. Receives of a round are waited for at its end, sends as late as possible.
class LeaderExchange {
 public:
  LeaderExchange(Builder& builder, const NodeMajor& data) : builder_(builder), data_(data) {}

  void start(const Round& round) {
    for (const Nodes& nodes : round.incoming)
      if (nodes.count > 0)
        receives_.push_back(
            builder_.recv(leader_of(round.from), data_.buffer(), data_.begin(nodes.first), data_.bytes(nodes)));
    for (const Nodes& nodes : round.outgoing)
      if (nodes.count > 0) send(leader_of(round.to), nodes);
  }

  void finish_receives() {
    for (const std::uint32_t slot : receives_) builder_.finish(slot);
    receives_.clear();
  }

  void finish_sends() {
    for (const std::uint32_t slot : sends_) builder_.finish(slot);
  }

 private:
  Rank leader_of(int node) const {
    return builder_.topology().ranks_on(NodeId(node))[static_cast<std::size_t>(leader.value)];
  }

  void send(Rank to, const Nodes& nodes) {
    if (sends_.size() == sends_ahead) {
      builder_.finish(sends_.front());
      sends_.pop_front();
    }
    sends_.push_back(builder_.send(to, data_.buffer(), data_.begin(nodes.first), data_.bytes(nodes)));
  }

  Builder& builder_;
  const NodeMajor& data_;
  std::vector<std::uint32_t> receives_;
  std::deque<std::uint32_t> sends_;
};

void copy_to_rank_order(Builder& builder, const NodeMajor& data) {
  if (data.buffer() == Buffer::output) return;
  data.placement().for_each_part(0, data.total(), [&](Bytes from, Bytes to, Bytes bytes) {
    builder.copy(Buffer::scratch, from, Buffer::output, to, bytes);
  });
}

void build_between_nodes(Builder& builder, const Problem& problem, const Choice& choice) {
  const topology::Topology& topology = builder.topology();
  const NodeMajor data(topology, problem.bytes);
  const bool is_leader = builder.local() == leader;
  if (is_leader && data.buffer() == Buffer::scratch) builder.need_scratch(data.total());
  const int node = builder.node().value;
  smp::collect_blocks(builder, choice, leader, problem.bytes, data.buffer(), data.begin(node));

  smp::Spread spread(builder, choice, leader, data.buffer(), data.placement());
  LeaderExchange exchange(builder, data);
  const auto pass = [&](const Nodes& nodes) {
    if (nodes.count > 0) spread.pass(data.begin(nodes.first), data.bytes(nodes));
  };
  // What a round brought is spread while the next one is under way.
  Nodes arrived[2] = {{node, 1}, {}};
  const std::vector<Round> rounds = derive_rounds(choice.between, node, topology.nodes());
  builder.expect_steps(rounds.size() * steps_per_round);
  for (const Round& round : rounds) {
    if (is_leader) exchange.start(round);
    for (const Nodes& nodes : arrived) pass(nodes);
    if (is_leader) exchange.finish_receives();
    std::copy(std::begin(round.incoming), std::end(round.incoming), std::begin(arrived));
  }
  for (const Nodes& nodes : arrived) pass(nodes);
  if (is_leader) exchange.finish_sends();
  if (is_leader) copy_to_rank_order(builder, data);
  spread.end();
}

}  // namespace

void build_allgather(Builder& builder, const Problem& problem, const Choice& choice) {
  if (problem.bytes == 0) return;
  if (builder.topology().nodes() == 1)
    smp::exchange_blocks(builder, choice, problem.bytes);
  else
    build_between_nodes(builder, problem, choice);
}

}  // namespace espalier::collectives
