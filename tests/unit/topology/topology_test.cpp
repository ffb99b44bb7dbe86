#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "topology/recent_topologies.hpp"
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

TEST(Topology, HoldsTogetherWhatIsEqual) {
  const std::vector<int> two = {0, 0, 1, 1}, other = {0, 1, 0, 1};
  const Topology one = Topology::from_nodes(two, {.turn = 1}), alike = Topology::from_nodes(two, {.turn = 2});
  const Topology shared = alike.sharing(one), unlike = Topology::from_nodes(other).sharing(one);
  EXPECT_FALSE(alike.shares_with(one));
  EXPECT_TRUE(shared.shares_with(one));
  EXPECT_EQ(shared.capabilities().turn, 2) << "what differs stays its own";
  EXPECT_EQ(&shared.order_memo(), &one.order_memo());
  EXPECT_FALSE(unlike.shares_with(one));
  EXPECT_EQ(unlike.node_of(Rank(1)), NodeId(1));
}

TEST(Topology, WithOtherDistancesHoldsItsPlacesTogetherOnly) {
  const std::vector<int> two = {0, 1};
  const Topology near = Topology::from_nodes(two);
  const std::vector<std::uint64_t> mbits = {1000, 200};
  const Topology far = near.with_distances(Distances::from_rates(mbits)).sharing(Topology::from_nodes(two));
  EXPECT_FALSE(far.shares_with(near));
  EXPECT_EQ(far.distances(), Distances::from_rates(mbits));
}

TEST(RecentTopologies, AreHeldOnceHoweverManyAreMade) {
  RecentTopologies recent;
  const std::vector<int> two = {0, 0, 1}, one = {0, 0};
  const Topology first = recent.share(Topology::from_nodes(two));
  const Topology other = recent.share(Topology::from_nodes(one));
  EXPECT_FALSE(other.shares_with(first));
  EXPECT_TRUE(recent.share(Topology::from_nodes(two)).shares_with(first));
  EXPECT_TRUE(recent.share(Topology::from_nodes(one)).shares_with(other));
  for (int ranks = 4; ranks < 12; ++ranks)
    recent.share(Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks))));
  EXPECT_FALSE(recent.share(Topology::from_nodes(two)).shares_with(first)) << "the oldest goes";
}

}  // namespace
}  // namespace espalier::topology
