#include "plan/graphs.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::plan {
namespace {

using topology::Topology;

TEST(Ring, BringsWhatGoesToTheRightFromTheLeft) {
  const Topology topology = Topology::from_nodes(std::vector{0, 0, 0, 1}, {});
  const Problem problem = with_ring({Operation::neighbor_alltoall, 8}, topology, 2);
  EXPECT_EQ(problem.degree, 2);
  EXPECT_EQ(problem.far_degree, 2);  // of rank 3, which is alone on its node
  ASSERT_EQ(problem.edges.size(), 8U);
  EXPECT_EQ(problem.edges.front(), (Edge{Rank(0), Rank(1), 8, 0, 8, 0, 2}));
  for (int r = 0; r < 4; ++r) {
    EXPECT_EQ(input_bytes(problem, 4, Rank(r)), 16U);
    EXPECT_EQ(output_bytes(problem, 4, Rank(r)), 16U);
  }
}

TEST(Ring, SendsOneBlockToAllInAnAllgather) {
  const Problem problem =
      with_ring({Operation::neighbor_allgather, 8}, Topology::from_nodes(std::vector{0, 0, 0}, {}), 2);
  for (const Edge& edge : problem.edges) EXPECT_EQ(edge.input_begin + static_cast<Bytes>(edge.part), 0U);
  EXPECT_EQ(problem.crossing, nullptr) << "there is one node";
}

// Node 0: ranks 0 and 1; node 1: 2 and 3; node 2: 4. Rank 0 reaches both ranks of node 1, rank 1 one of them twice.
TEST(Crossing, CountsBlocksOfAnAllgatherOnceForEachNode) {
  const Topology topology = Topology::from_nodes(std::vector{0, 0, 1, 1, 2}, {});
  const auto edge = [](int from, int to) { return Crossing::Edge{Rank(from), Rank(to)}; };
  const Crossing crossing =
      derive_crossing(topology, {edge(0, 1), edge(0, 2), edge(0, 3), edge(1, 2), edge(1, 2), edge(1, 4)});
  EXPECT_EQ(crossing.edges.size(), 5U) << "rank 1 is on rank 0's node";
  EXPECT_EQ(crossing.alltoall, (Crossing::Most{.parcels = 2, .blocks = 5, .parcel = 4}));
  EXPECT_EQ(crossing.allgather, (Crossing::Most{.parcels = 2, .blocks = 3, .parcel = 2}));
}

}  // namespace
}  // namespace espalier::plan
