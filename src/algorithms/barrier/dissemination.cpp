// Barrier: on one node everyone tells everyone. On several, each node reports to its leader, leaders disseminate
// (Hensgen, Finkel and Manber 1988): in round k they signal the leader 2^k nodes to the right and wait for the one 2^k
// to the left, ceil(log2(nodes)) rounds for any count; then each leader releases its node. With two levels in a node,
// reports and releases go through one rank per domain. With three, on one node, the first ranks of its caches
// disseminate in the same way, in the place of leaders.

#include "algorithms/row.hpp"
#include "leaders/speakers.hpp"
#include "smp/domains.hpp"
#include "smp/operations.hpp"

namespace espalier::algorithms::barrier_dissemination {

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

/// Leaders of caches have flags of their own, so that what ranks of a cache report is not mistaken for it.
void disseminate_among_caches(Builder& builder) {
  const smp::Domains caches = smp::Domains::of_caches(builder.topology(), builder.node()).in_parts();
  const int own = caches.of(builder.local()), count = caches.count();
  const LocalRank leader = caches.members(own).front();
  if (builder.local() != leader) {
    builder.post(Flag::ready, 1);
    builder.await(leader, Flag::release, 1);
    return;
  }
  for (const LocalRank member : caches.members(own))
    if (member != leader) builder.await(member, Flag::ready, 1);
  std::uint64_t round = 0;
  for (int distance = 1; distance < count; distance *= 2) {
    builder.post(Flag::taken, ++round);
    builder.await(caches.members((own - distance + count) % count).front(), Flag::taken, round);
  }
  builder.post(Flag::release, 1);
}

void build(Builder& builder, const plan::Problem& problem, const plan::Choice& choice) {
  if (builder.topology().nodes() == 1 && choice.levels == 1) {
    if (builder.node_size() > 1) smp::group_sync(builder, 0);
    return;
  }
  if (builder.topology().nodes() == 1 && choice.levels > 2) return disseminate_among_caches(builder);
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

double price(const Scene& s) {
  const double node = s.on_node > 1 ? s.node.flag() : 0;
  if (s.nodes == 1) return node;
  return 2 * node + cost::rounds_of(s.nodes) * s.network.message(0);
}

}  // namespace

extern const Algorithm row = {
    .operation = Operation::barrier,
    .between = "dissemination",
    .place = 1,
    .source = "Hensgen, Finkel, Manber 1988",
    .summary = "leaders signal 2^k nodes to the right, ceil(log2 N) rounds",
    .knobs = "levels leaders",
    .build = build,
    .propose = vary_knobs,
    .way = over_trunks,
    .price = price,
};

}  // namespace espalier::algorithms::barrier_dissemination
