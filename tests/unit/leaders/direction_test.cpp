#include "leaders/direction.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "cluster.hpp"
#include "placements.hpp"

namespace espalier::leaders {
namespace {

using machine::Mapping;
using plan::Operation;
using testing::cluster;
using testing::figure_3;
using testing::snapshot;
using topology::Topology;

std::vector<int> values(const std::vector<Rank>& ranks) {
  std::vector<int> values;
  for (const Rank rank : ranks) values.push_back(rank.value);
  return values;
}

std::vector<int> leaders_of_all(const Topology& topology, const Call& call) {
  std::vector<int> leaders;
  for (int n = 0; n < topology.nodes(); ++n)
    leaders.push_back(derive_leaders(topology, NodeId(n), call).in_group(0).rank.value);
  return leaders;
}

TEST(Direction, BroadcastReachesNearLeadersFromTheRootItself) {
  EXPECT_EQ(leaders_of_all(figure_3(), {Operation::broadcast, Rank(6)}), (std::vector<int>{1, 6, 9, 13}))
      << "as in the paper's figure 3";
  EXPECT_EQ(leaders_of_all(figure_3(), {Operation::scatter, Rank(3)}), (std::vector<int>{3, 5, 9, 13}));
}

TEST(Direction, TheRootHandsOverOnlyWhenAsked) {
  Call call{Operation::broadcast, Rank(6)};
  call.hands_over = true;
  EXPECT_EQ(leaders_of_all(figure_3(), call), (std::vector<int>{1, 5, 9, 13}));
}

TEST(Direction, GatherLeavesSendersAlone) {
  Call call{Operation::gather, Rank(6)};
  EXPECT_EQ(leaders_of_all(figure_3(), call), (std::vector<int>{0, 6, 8, 12}));
  call.relays = true;  // inner vertices of a tree receive
  EXPECT_EQ(leaders_of_all(figure_3(), call), (std::vector<int>{1, 6, 9, 13}));
}

TEST(Direction, OperationsWithoutARootHaveNearLeadersEverywhere) {
  for (const Operation operation : {Operation::allgather, Operation::alltoall, Operation::allreduce,
                                    Operation::reduce_scatter, Operation::scan, Operation::exscan, Operation::barrier})
    EXPECT_EQ(leaders_of_all(figure_3(), {operation}), (std::vector<int>{1, 5, 9, 13}));
}

TEST(Direction, TheRootJoinsTheGroupOfItsNic) {
  const Topology topology = cluster(snapshot("xeon-2s-2nic"), Mapping::packed, 16, 2);
  const auto at = [&](int root) {
    return derive_leaders(topology, NodeId(0), {Operation::broadcast, Rank(root), Policy::near, 2}).leaders;
  };
  EXPECT_EQ(at(3), (std::vector<NodeLeaders::Leader>{{Rank(3), 0}, {Rank(8), 1}}));
  EXPECT_EQ(at(12), (std::vector<NodeLeaders::Leader>{{Rank(0), 0}, {Rank(12), 1}}));
  EXPECT_EQ(at(8), (std::vector<NodeLeaders::Leader>{{Rank(0), 0}, {Rank(8), 1}})) << "elected anyway";
}

TEST(Direction, NodesWithFewLeadersLetThemTakeSeveralGroups) {
  const std::vector<int> node_of = {0, 0, 0, 1};
  const Topology topology = Topology::from_nodes(node_of);
  const Call call{Operation::allgather, Rank(0), Policy::near, 3};
  EXPECT_EQ(derive_leaders(topology, NodeId(0), call).in_group(2).rank, Rank(2));
  EXPECT_EQ(derive_leaders(topology, NodeId(1), call).in_group(2).rank, Rank(3));
}

TEST(Direction, NodesMayDiffer) {
  const auto opteron = testing::facts_of(snapshot("opteron-4s"), Mapping::packed, 8);
  auto facts = testing::facts_of(snapshot("vm-no-pci"), Mapping::packed, 4);
  facts.insert(facts.begin(), opteron.begin(), opteron.end());
  const std::vector<int> node_of = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  const Topology topology = Topology::from_nodes(node_of, {}, facts);
  EXPECT_EQ(leaders_of_all(topology, {Operation::allgather}), (std::vector<int>{2, 8}));
  EXPECT_EQ(derive_leaders(topology, NodeId(1), {Operation::allgather}).reason, "no NIC is known");
}

TEST(Thread, EntersEveryNodeThroughItsNearRank) {
  EXPECT_EQ(values(derive_chain(figure_3(), {Operation::broadcast, Rank(6)})),
            (std::vector<int>{6, 4, 5, 7, 9, 8, 10, 11, 13, 12, 14, 15, 1, 0, 2, 3}));
}

TEST(Thread, LeavesANumaNodeOnce) {
  const Topology topology = cluster(snapshot("opteron-4s"), Mapping::scattered, 8, 1);
  EXPECT_EQ(values(derive_thread(topology, NodeId(0), {Operation::allgather})),
            (std::vector<int>{1, 5, 0, 4, 2, 6, 3, 7}));
  EXPECT_EQ(values(derive_thread(topology, NodeId(0), {Operation::allgather, Rank(0), Policy::natural})),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Thread, VisitsEveryRankOnceOnAnyPlacement) {
  for (const testing::Placement& placement : testing::placements()) {
    const Topology topology = Topology::from_nodes(placement.node_of);
    for (const Rank root : topology.by_node()) {
      std::vector<int> chain = values(derive_chain(topology, {Operation::broadcast, root}));
      EXPECT_EQ(chain.front(), root.value) << placement.name;
      std::sort(chain.begin(), chain.end());
      for (int r = 0; r < topology.ranks(); ++r) EXPECT_EQ(chain[static_cast<std::size_t>(r)], r) << placement.name;
    }
  }
}

// Each rank's cells lie on its own NUMA node: a near leader's thus where its NIC writes at the shortest way.
TEST(Cells, LieWhereTheNicWrites) {
  const Topology topology = cluster(snapshot("gpu-8nic"), Mapping::packed, 64, 1);
  const NodeLeaders near = derive_leaders(topology, NodeId(0), {Operation::allgather, Rank(0), Policy::near, 8});
  for (const auto& leader : near.leaders) {
    const machine::RankFacts& facts = topology.facts_on(NodeId(0))[static_cast<std::size_t>(leader.rank.value)];
    EXPECT_EQ(facts.numa, facts.nic_numa[static_cast<std::size_t>(leader.nic)]) << "rank " << leader.rank.value;
  }
}

}  // namespace
}  // namespace espalier::leaders
