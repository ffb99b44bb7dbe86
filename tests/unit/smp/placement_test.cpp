// Node-major order against rank order, for equal, unequal and empty blocks.

#include "smp/placement.hpp"

#include <gtest/gtest.h>

#include "placements.hpp"

namespace espalier::smp {
namespace {

using plan::Operation;
using plan::Problem;
using topology::Topology;

struct Run {
  Bytes from, to, bytes;
  bool operator==(const Run&) const = default;
};

std::vector<Run> runs_of(const NodeMajor& order, Bytes offset, Bytes bytes) {
  std::vector<Run> runs;
  order.for_each_part(offset, bytes, [&](Bytes from, Bytes to, Bytes part) { runs.push_back({from, to, part}); });
  return runs;
}

/// Byte by byte: where each byte of node-major order lies in rank order.
std::vector<Bytes> rank_order_of(const Topology& topology, const Problem& problem) {
  const plan::Blocks blocks(problem, topology.ranks());
  std::vector<Bytes> places;
  for (const Rank rank : topology.by_node())
    for (Bytes i = 0; i < blocks.bytes(rank); ++i) places.push_back(blocks.begin(rank) + i);
  return places;
}

Problem uneven(int ranks) {
  Problem problem{Operation::gather, 3};
  for (int r = 0; r < ranks; ++r) problem.counts.push_back(static_cast<Bytes>(r * 5 + 1) % 4);
  return problem;
}

void expect_same_as_byte_by_byte(const Topology& topology, const Problem& problem) {
  const NodeMajor order(topology, problem);
  const std::vector<Bytes> places = rank_order_of(topology, problem);
  ASSERT_EQ(order.total(), places.size());
  for (Bytes begin = 0; begin <= places.size(); ++begin)
    for (Bytes end = begin; end <= places.size(); ++end) {
      Bytes at = begin;
      const std::vector<Run> runs = runs_of(order, begin, end - begin);
      for (std::size_t i = 0; i < runs.size(); ++i) {
        EXPECT_EQ(runs[i].from, at);
        EXPECT_GT(runs[i].bytes, 0u);
        for (Bytes b = 0; b < runs[i].bytes; ++b) ASSERT_EQ(runs[i].to + b, places[at + b]);
        at += runs[i].bytes;
        if (i > 0) {
          EXPECT_NE(runs[i - 1].to + runs[i - 1].bytes, runs[i].to) << "two runs where one would do";
        }
      }
      EXPECT_EQ(at, end);
    }
}

TEST(NodeMajorOrder, MapsEveryStretchInMaximalRuns) {
  for (const testing::Placement& placement : testing::placements()) {
    SCOPED_TRACE(placement.name);
    const Topology topology = Topology::from_nodes(placement.node_of);
    expect_same_as_byte_by_byte(topology, {Operation::gather, 3});
    expect_same_as_byte_by_byte(topology, uneven(topology.ranks()));
  }
}

TEST(NodeMajorOrder, OfNothingHasNoRuns) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 0});
  EXPECT_TRUE(runs_of(NodeMajor(topology, {Operation::gather, 0}), 0, 0).empty());
  EXPECT_TRUE(runs_of(NodeMajor(topology, {Operation::gather, 0, Rank(0), 1, true, {0, 0, 0}}), 0, 0).empty());
}

TEST(NodeBlocks, LieInRankOrderAtTheRootAndPackedElsewhere) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 0, 1});
  const NodeMajor order(topology, {Operation::scatter, 0, Rank(0), 1, true, {10, 20, 30, 40}});
  const NodeBlocks at_root = NodeBlocks::among_all(topology, NodeId(1), order);
  EXPECT_EQ(at_root.begin(LocalRank(0)), 10u);
  EXPECT_EQ(at_root.begin(LocalRank(1)), 60u);
  const NodeBlocks packed = NodeBlocks::from(5, topology, NodeId(1), order);
  EXPECT_EQ(packed.begin(LocalRank(0)), 5u);
  EXPECT_EQ(packed.begin(LocalRank(1)), 25u);
  EXPECT_EQ(packed.bytes(LocalRank(1)), 40u);
  EXPECT_EQ(packed.total(), 60u);
}

}  // namespace
}  // namespace espalier::smp
