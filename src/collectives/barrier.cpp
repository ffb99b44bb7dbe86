// Barrier: on one node everyone tells everyone. On several, each node reports to its leader, leaders disseminate
// (Hensgen, Finkel and Manber 1988): in round k they signal the leader 2^k nodes to the right and wait for the one 2^k
// to the left, ceil(log2(nodes)) rounds for any count; then each leader releases its node.

#include "collectives/barrier.hpp"

#include "leaders/speakers.hpp"
#include "smp/operations.hpp"

namespace espalier::collectives {

using plan::Buffer;
using plan::Builder;
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
  const leaders::Speakers speakers(builder.topology(), problem, choice.leaders);
  const LocalRank leader = speakers.local_of(builder.node());
  const bool has_neighbours = builder.node_size() > 1;
  if (builder.topology().nodes() == 1) {
    if (!has_neighbours) return;
    smp::group_sync(builder, 0);
  } else if (builder.local() == leader) {
    builder.await_neighbours(Flag::ready, 1);
    disseminate(builder, speakers);
    if (has_neighbours) builder.post(Flag::release, 1);
  } else {
    builder.post(Flag::ready, 1);
    builder.await(leader, Flag::release, 1);
  }
}

}  // namespace espalier::collectives
