// Barrier: on one node everyone tells everyone. On several, each node reports to its leader, leaders disseminate
// (Hensgen, Finkel and Manber 1988): in round k they signal the leader 2^k nodes to the right and wait for the one 2^k
// to the left, ceil(log2(nodes)) rounds for any count; then each leader releases its node. With two levels in a node,
// reports and releases go through one rank per domain.

#include "collectives/barrier.hpp"

#include "collectives/words.hpp"
#include "leaders/speakers.hpp"
#include "smp/domains.hpp"
#include "smp/operations.hpp"

namespace espalier::collectives {

using plan::Flag;

namespace {

void disseminate(Builder& builder, const leaders::Speakers& speakers) {
  const topology::Topology& topology = builder.topology();
  const int count = topology.nodes();
  const int node = builder.node().value;
  const auto leader_of = [&](int n) { return speakers.of(NodeId(n)); };
  for (int distance = 1; distance < count; distance *= 2) {
    const std::uint32_t receive = builder.recv(leader_of((node - distance + count) % count), Buffer::output, 0, 0);
    const std::uint32_t send = builder.send(leader_of((node + distance) % count), Buffer::output, 0, 0);
    builder.finish(receive);
    builder.finish(send);
  }
}

}  // namespace

void build_barrier(Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  if (builder.topology().nodes() == 1 && choice.levels == 1) {
    if (builder.node_size() > 1) smp::group_sync(builder, 0);
    return;
  }
  const leaders::Speakers speakers(builder.topology(), problem, choice.leaders);
  const LocalRank leader = speakers.local_of(builder.node());
  const smp::Hop hop = smp::derive_hop(builder, choice.levels, leader);
  if (!hop.readers.empty()) smp::await_readers(builder, hop, Flag::ready, 1);
  if (builder.local() == leader) {
    disseminate(builder, speakers);
  } else {
    builder.post(Flag::ready, 1);
    builder.await(hop.from, Flag::release, 1);
  }
  if (!hop.readers.empty()) builder.post(Flag::release, 1);
}

}  // namespace espalier::collectives
