#include "leaders/speakers.hpp"

#include <gtest/gtest.h>

#include "cluster.hpp"
#include "placements.hpp"

namespace espalier::leaders {
namespace {

using machine::Mapping;
using plan::Operation;
using plan::Problem;
using testing::cluster;
using testing::figure_3;
using testing::snapshot;
using topology::Topology;

TEST(Speakers, AreFirstRanksAndTheRootWhereNothingIsKnown) {
  for (const testing::Placement& placement : testing::placements()) {
    const Topology topology = Topology::from_nodes(placement.node_of);
    const Rank root(topology.ranks() - 1);
    const Speakers speakers(topology, Problem{Operation::broadcast, 1, root}, Policy::near);
    for (int n = 0; n < topology.nodes(); ++n) {
      const NodeId node(n);
      EXPECT_EQ(speakers.of(node), topology.node_of(root) == node ? root : topology.ranks_on(node).front());
      EXPECT_TRUE(speakers.near(node, 2).empty()) << placement.name;
    }
  }
}

TEST(Speakers, AreNearTheirNicButForTheRoot) {
  const Topology topology = figure_3();
  const Speakers speakers(topology, Problem{Operation::broadcast, 1, Rank(6)}, Policy::near);
  EXPECT_EQ(speakers.of(NodeId(0)), Rank(1));
  EXPECT_EQ(speakers.of(NodeId(1)), Rank(6));
  EXPECT_EQ(speakers.local_of(NodeId(3)), LocalRank(1));
}

TEST(Speakers, OfAGatherAreNearOnlyWhereTheyReceive) {
  const Topology topology = figure_3();
  const Speakers speakers(topology, Problem{Operation::gather, 1, Rank(6)}, Policy::near);
  EXPECT_EQ(speakers.of(NodeId(2)), Rank(8));
  EXPECT_EQ(speakers.of(NodeId(2), true), Rank(9)) << "asked after the other answer was kept";
}

TEST(Speakers, AreFirstRanksWhenAskedToBeNatural) {
  const Topology topology = figure_3();
  const Speakers speakers(topology, Problem{Operation::allgather, 1}, Policy::natural);
  EXPECT_EQ(speakers.of(NodeId(2)), Rank(8));
  EXPECT_TRUE(speakers.near(NodeId(2), 2).empty());
}

TEST(Speakers, OfGroupsTakeTheNearestFirst) {
  const Topology topology = cluster(snapshot("xeon-2s-2nic"), Mapping::packed, 16, 2);
  const Speakers speakers(topology, Problem{Operation::allgather, 1}, Policy::near);
  EXPECT_EQ(speakers.near(NodeId(1), 2), (std::vector<Rank>{Rank(16), Rank(24)})) << "one beside each card";
}

}  // namespace
}  // namespace espalier::leaders
