#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "topology/virtual_nodes.hpp"

namespace espalier::topology {
namespace {

TEST(Topology, NumbersNodesByFirstAppearance) {
  const std::vector<int> labels = {70, 5, 70, 9, 5};
  const Topology t = Topology::from_nodes(labels);
  EXPECT_EQ(t.nodes(), 3);
  EXPECT_EQ(t.node_of(Rank(0)), NodeId(0));
  EXPECT_EQ(t.node_of(Rank(1)), NodeId(1));
  EXPECT_EQ(t.node_of(Rank(3)), NodeId(2));
}

TEST(Topology, FindsEveryRankOnItsNode) {
  const std::vector<int> labels = {2, 0, 1, 0, 2, 2, 1};
  const Topology t = Topology::from_nodes(labels);
  int counted = 0;
  for (int n = 0; n < t.nodes(); ++n)
    for (int i = 0; i < t.size_of(NodeId(n)); ++i, ++counted) {
      const Rank rank = t.ranks_on(NodeId(n))[static_cast<std::size_t>(i)];
      EXPECT_EQ(t.node_of(rank), NodeId(n));
      EXPECT_EQ(t.local_rank(rank), LocalRank(i));
      EXPECT_EQ(t.by_node()[static_cast<std::size_t>(t.ranks_before(NodeId(n)) + i)], rank);
    }
  EXPECT_EQ(counted, t.ranks());
  EXPECT_EQ(t.largest_node(), 3);
  EXPECT_EQ(t.smallest_node(), 2);
}

TEST(Topology, KnowsWhenNodeMajorOrderIsRankOrder) {
  const std::vector<int> blocks = {0, 0, 0, 1, 2, 2}, cyclic = {0, 1, 0, 1};
  EXPECT_TRUE(Topology::from_nodes(blocks).is_blocked());
  EXPECT_FALSE(Topology::from_nodes(cyclic).is_blocked());
}

TEST(Topology, KeepsFactsBesideTheRanksTheyAreAbout) {
  const std::vector<int> labels = {1, 0, 1, 0, 1};
  std::vector<machine::RankFacts> facts(labels.size());
  for (std::size_t r = 0; r < facts.size(); ++r) facts[r].numa = static_cast<std::int16_t>(r);
  const Topology t = Topology::from_nodes(labels, {}, facts);
  for (const NodeId node : {NodeId(0), NodeId(1)})
    for (std::size_t i = 0; i < t.ranks_on(node).size(); ++i)
      EXPECT_EQ(t.facts_on(node)[i].numa, t.ranks_on(node)[i].value);
  EXPECT_TRUE(Topology::from_nodes(labels).facts_on(NodeId(0)).empty());
  facts[1].mbits = 200'000;
  EXPECT_EQ(Topology::from_nodes(labels, {}, facts).nic_mbits(NodeId(1)), 200'000u);
  EXPECT_EQ(Topology::from_nodes(labels).nic_mbits(NodeId(1)), 0u);
  facts.pop_back();
  EXPECT_THROW(Topology::from_nodes(labels, {}, facts), Error);
}

TEST(Topology, NeedsARank) { EXPECT_THROW(Topology::from_nodes({}), Error); }

std::vector<int> nodes_of(const char* spec, int count) {
  const VirtualNodes split = VirtualNodes::parse(spec);
  std::vector<int> nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(split.node_of(i, count));
  return nodes;
}

TEST(VirtualNodes, SplitIntoNearlyEqualBlocks) {
  EXPECT_EQ(nodes_of("", 3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(nodes_of("2", 5), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(nodes_of("4", 8), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(VirtualNodes, FollowAListAndRepeatIt) {
  EXPECT_EQ(nodes_of("3,1,4", 8), (std::vector<int>{0, 0, 0, 1, 2, 2, 2, 2}));
  EXPECT_EQ(nodes_of("1,2", 5), (std::vector<int>{0, 1, 1, 2, 3}));
}

TEST(VirtualNodes, GoRoundRobin) { EXPECT_EQ(nodes_of("cyclic:3", 7), (std::vector<int>{0, 1, 2, 0, 1, 2, 0})); }

TEST(VirtualNodes, NumberTheirProcesses) {
  const VirtualNodes split = VirtualNodes::parse("cyclic:3");
  std::vector<int> indices;
  for (int i = 0; i < 7; ++i) indices.push_back(split.index_on_node(i, 7));
  EXPECT_EQ(indices, (std::vector<int>{0, 0, 0, 1, 1, 1, 2}));
}

TEST(VirtualNodes, ThatMakeNoSenseAreNamed) {
  for (const char* text : {"0", "-2", "x", "3,,4", "3,0", "cyclic:", "cyclic:0", "4 ", "2147483647,1"})
    EXPECT_THROW(VirtualNodes::parse(text), Error) << text;
}

}  // namespace
}  // namespace espalier::topology
