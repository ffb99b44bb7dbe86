#include "topology/distances.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/error.hpp"
#include "topology/topology.hpp"

namespace espalier::topology {
namespace {

/// Nodes at switches: near on one switch, far otherwise, as slow as the slower of two nodes.
std::vector<Way> matrix_of(const std::vector<int>& switch_of, const std::vector<float>& per_byte) {
  std::vector<Way> matrix;
  for (std::size_t a = 0; a < switch_of.size(); ++a)
    for (std::size_t b = 0; b < switch_of.size(); ++b)
      matrix.push_back({a == b                         ? 0.0F
                        : switch_of[a] == switch_of[b] ? 1.0F
                                                       : 2.5F,
                        std::max(per_byte[a], per_byte[b])});
  return matrix;
}

void expect_exact(int nodes, const std::vector<Way>& matrix) {
  const Distances found = Distances::from_matrix(nodes, matrix);
  for (int a = 0; a < nodes; ++a)
    for (int b = 0; b < nodes; ++b)
      EXPECT_EQ(found.way(NodeId(a), NodeId(b)), a == b ? Way{} : matrix[static_cast<std::size_t>(a * nodes + b)]);
}

TEST(Distances, AreNeutralWhenNobodyHasSaidAnything) {
  const Distances none;
  EXPECT_TRUE(none.is_neutral());
  EXPECT_EQ(none.way(NodeId(3), NodeId(7)), Way{});
}

TEST(Distances, PutNodesOfOneSwitchAndSpeedIntoOneClass) {
  const std::vector<int> switch_of = {0, 1, 0, 1, 2, 2, 2, 0};
  const std::vector<float> per_byte = {1, 1, 1, 1, 1, 3, 1, 3};
  const auto matrix = matrix_of(switch_of, per_byte);
  const Distances found = Distances::from_matrix(8, matrix);
  EXPECT_EQ(found.classes(), 5);
  EXPECT_EQ(found.class_of(NodeId(0)), found.class_of(NodeId(2)));
  EXPECT_NE(found.class_of(NodeId(0)), found.class_of(NodeId(7)));
  expect_exact(8, matrix);
}

TEST(Distances, ChangeNoWayOfAnIrregularMatrix) {
  for (int nodes = 1; nodes <= 12; ++nodes) {
    std::vector<Way> matrix;
    for (int i = 0; i < nodes * nodes; ++i)
      matrix.push_back({static_cast<float>(i * 7919 % 5), static_cast<float>(i * 104729 % 3)});
    expect_exact(nodes, matrix);
  }
}

TEST(Distances, OfEquallyDistantNodesAreNeutral) {
  EXPECT_TRUE(Distances::from_matrix(6, matrix_of({0, 0, 0, 0, 0, 0}, {2, 2, 2, 2, 2, 2})).is_neutral());
  // One node per switch: everybody is as far from everybody.
  EXPECT_TRUE(Distances::from_matrix(4, matrix_of({0, 1, 2, 3}, {2, 2, 2, 2})).is_neutral());
}

TEST(Distances, ByRateAreThoseOfTheSlowerNic) {
  const std::array<std::uint64_t, 4> mbits = {16000, 8000, 16000, 0};
  const Distances found = Distances::from_rates(mbits);
  EXPECT_FLOAT_EQ(found.way(NodeId(0), NodeId(2)).per_byte, 8.0F / 16000);
  EXPECT_FLOAT_EQ(found.way(NodeId(0), NodeId(1)).per_byte, 8.0F / 8000);
  EXPECT_FLOAT_EQ(found.way(NodeId(0), NodeId(3)).per_byte, 8.0F / 16000) << "an unknown rate is not a slow one";
  const std::array<std::uint64_t, 3> equal = {100, 100, 100};
  EXPECT_TRUE(Distances::from_rates(equal).is_neutral());
}

TEST(Distances, BetweenSomeNodesAreTheSame) {
  const auto all = Distances::from_matrix(6, matrix_of({0, 1, 0, 2, 1, 2}, {1, 1, 3, 1, 1, 1}));
  const std::vector<int> some = {4, 1, 3};
  const Distances few = all.between(some);
  EXPECT_EQ(few.classes(), 2);
  for (int a = 0; a < 3; ++a)
    for (int b = 0; b < 3; ++b)
      EXPECT_EQ(few.way(NodeId(a), NodeId(b)),
                all.way(NodeId(some[static_cast<std::size_t>(a)]), NodeId(some[static_cast<std::size_t>(b)])));
  EXPECT_TRUE(all.between(std::vector<int>{1, 4}).is_neutral());
}

TEST(Distances, TellWhatIsTypicalAndWhatIsWorst) {
  // Of six ordered pairs two are on one switch; node 2 is slow.
  const Distances found = Distances::from_matrix(3, matrix_of({0, 0, 1}, {1, 1, 3}));
  EXPECT_FLOAT_EQ(found.typical().latency, (2 * 1.0F + 4 * 2.5F) / 6);
  EXPECT_FLOAT_EQ(found.typical().per_byte, (2 * 1.0F + 4 * 3.0F) / 6);
  EXPECT_EQ(found.worst(), (Way{2.5F, 3}));
  EXPECT_EQ(Distances().typical(), Way{});
}

TEST(Distances, CallAClassAsRemoteAsItIsFromAllNodes) {
  const Distances found = Distances::from_matrix(5, matrix_of({0, 0, 0, 1, 1}, {1, 1, 1, 1, 1}));
  EXPECT_FLOAT_EQ(found.remoteness(0, 0), 3 * 1.0F + 2 * 2.5F);
  EXPECT_FLOAT_EQ(found.remoteness(1, 0), 2 * 1.0F + 3 * 2.5F);
  EXPECT_FLOAT_EQ(found.remoteness(1, 100) - found.remoteness(1, 0), 500);
  EXPECT_FLOAT_EQ(found.own_per_byte(0), 1);
}

TEST(Distances, CarryTheTrunksOfLeaves) {
  const auto plain = Distances::from_matrix(4, matrix_of({0, 0, 1, 2}, {1, 1, 1, 1}));
  const Trunks trunks{{0, 0, 1, 2}, {0.5F, 0.25F, 0.125F}};
  const Distances all = plain.with_trunks(trunks);
  EXPECT_EQ(all.trunks(), trunks);
  EXPECT_EQ(all.ways(), plain.ways());
  EXPECT_FLOAT_EQ(all.crowded_per_byte(), 1) << "two nodes on the leaf whose cables carry least";
  EXPECT_EQ(all.between(std::vector<int>{0, 1}).crowded_per_byte(), 0) << "what stays on a leaf crosses no trunk";
  EXPECT_NE(all, plain);
  EXPECT_EQ(all.between(std::vector<int>{3, 1}).trunks(), (Trunks{{0, 1}, {0.125F, 0.5F}}));
  EXPECT_THROW(plain.with_trunks({{0, 0, 1}, {1, 1}}), Error) << "a node has no leaf";
  EXPECT_THROW(plain.with_trunks({{0, 0, 1, 2}, {1, 1}}), Error) << "a leaf has no trunk";
  EXPECT_THROW(plain.with_trunks({{0, 0, 1, 0}, {}}), Error);
  EXPECT_EQ(plain.with_trunks({}), plain);
}

TEST(Distances, RefuseWhatDoesNotFit) {
  EXPECT_THROW(Distances::from_classes({0, 1}, {Way{}}), Error);
  EXPECT_THROW(Distances::from_classes({0}, {Way{}, Way{}}), Error);
  EXPECT_THROW(Distances::from_matrix(2, std::vector<Way>(3)), Error);
  const std::vector<int> nodes = {0, 1, 2};
  EXPECT_THROW(Topology::from_nodes(nodes).with_distances(Distances::from_classes({0}, {Way{}})), Error);
}

TEST(Topology, WithDistancesKeepsEverythingElse) {
  const std::vector<int> labels = {0, 1, 1, 2};
  const Topology plain = Topology::from_nodes(labels, {.single_copy = true});
  const Topology placed = plain.with_distances(Distances::from_rates(std::array<std::uint64_t, 3>{10, 20, 10}));
  EXPECT_TRUE(plain.distances().is_neutral());
  EXPECT_EQ(placed.distances().classes(), 2);
  EXPECT_EQ(placed.nodes(), 3);
  EXPECT_TRUE(placed.capabilities().single_copy);
}

TEST(Distances, KeepTheRoutesOfTheNodesThatAreLeft) {
  const Distances plain =
      Distances::from_classes({0, 0, 1, 1}, std::vector<Way>(4)).with_trunks({{0, 0, 1, 1}, {0, 0}});
  // From leaf 0 over cable 0 to node 2 and cable 1 to node 3; from leaf 1 over cable 2 to both.
  const Cables cables{{1, 2, 3}, {0, 0, 0, 1, 2, 3, 4, 4, 4}, {0, 1, 2, 2}};
  const Distances known = plain.with_cables(cables);
  EXPECT_EQ(known.cables(), cables);
  const std::vector<int> some = {3, 0};
  const Distances left = known.between(some);
  EXPECT_EQ(left.cables().per_byte, (std::vector<float>{3, 2}));
  EXPECT_TRUE(left.cables().route(0, 0, 2).empty()) << "on its own leaf";
  EXPECT_EQ(left.cables().route(0, 1, 2).front(), 0);
  EXPECT_EQ(left.cables().route(1, 0, 2).front(), 1);
  EXPECT_THROW(plain.with_cables({{1}, {0, 0}, {}}), Error) << "as many routes as leaves times nodes";
  EXPECT_THROW(plain.with_cables({{1}, {0, 0, 0, 1, 2, 3, 4, 4, 4}, {0, 1, 2, 2}}), Error) << "cables that are not";
}

TEST(OrderMemo, DerivesAnOrderOnce) {
  OrderMemo memo;
  int derived = 0;
  const auto derive = [&] { return std::vector<int>{++derived}; };
  EXPECT_EQ(memo.get({1, 2, 3}, derive), memo.get({1, 2, 3}, derive));
  EXPECT_EQ(derived, 1);
  for (std::uint64_t other = 10; other < 100; ++other) memo.get({other, 0, 0}, derive);
  memo.get({1, 2, 3}, derive);
  EXPECT_EQ(derived, 92) << "the oldest has gone";
}

}  // namespace
}  // namespace espalier::topology
