#include "machine/node.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace espalier::machine {
namespace {

// Two packages of two NUMA nodes of two processors.
Node four_numa_nodes() {
  Node node;
  node.source = "a test";
  node.cpus = CpuSet::range(0, 8);
  node.packages = {CpuSet::range(0, 4), CpuSet::range(4, 4)};
  for (int n = 0; n < 4; ++n) node.numa_nodes.push_back({n, CpuSet::range(2 * n, 2)});
  return node;
}

Nic card(const char* name, const char* bus, const char* near) {
  Nic nic;
  nic.names = {name};
  nic.bus = bus;
  nic.near = CpuSet::parse(near);
  return nic;
}

TEST(Node, AssumesDistancesWhereFirmwareTellsNone) {
  Node found = four_numa_nodes();
  found.distances = {{10, 20}, {20, 10}};  // of another machine, it seems
  const Node node = derive_node(found);
  EXPECT_EQ(node.distances[0], (std::vector<int>{10, 12, 20, 20}));
  EXPECT_EQ(node.distances[3], (std::vector<int>{20, 20, 12, 10}));
}

TEST(Node, KeepsDistancesThatMakeSense) {
  Node found = four_numa_nodes();
  found.distances = {{10, 16, 16, 22}, {16, 10, 22, 16}, {16, 22, 10, 16}, {22, 16, 16, 10}};
  EXPECT_EQ(derive_node(found).distances, found.distances);
  found.distances[1][2] = 5;  // nearer than itself
  EXPECT_EQ(derive_node(found).distances[1][2], 20);
}

TEST(Node, MeasuresToTheNearestNumaNodeOfANic) {
  Node found = four_numa_nodes();
  found.nics = {card("near_two", "b", "2-5"), card("unknown", "c", ""), card("everywhere", "a", "0-7")};
  const Node node = derive_node(found);
  ASSERT_EQ(node.nics[1].names[0], "near_two") << "sorted by address";
  EXPECT_EQ(distance_to(node, 1, node.nics[1]), 10);
  EXPECT_EQ(distance_to(node, 0, node.nics[1]), 12);
  EXPECT_EQ(distance_to(node, 0, node.nics[2]), unknown_distance);
  EXPECT_EQ(distance_to(node, 0, node.nics[0]), unknown_distance) << "all processors say nothing";
}

TEST(Node, WithoutNumaNodesIsOne) {
  Node found;
  found.cpus = CpuSet::range(0, 4);
  found.nics = {card("eth0", "", "")};
  const Node node = derive_node(found);
  ASSERT_EQ(node.numa_nodes.size(), 1U);
  EXPECT_EQ(distance_to(node, 0, node.nics[0]), local_distance) << "there is nowhere else";
  EXPECT_THROW(derive_node(Node{}), Error);
}

TEST(Node, FindsTheGroupThatHoldsABinding) {
  const Node node = derive_node(four_numa_nodes());
  EXPECT_EQ(numa_of(node, CpuSet::parse("4-5")), 2);
  EXPECT_EQ(numa_of(node, CpuSet::parse("5-6")), -1) << "on two";
  EXPECT_EQ(numa_of(node, CpuSet()), -1);
  EXPECT_EQ(numa_of(node, CpuSet::parse("99")), -1);
  EXPECT_EQ(l3_of(node, CpuSet::parse("0")), -1) << "no L3 is known";
}

}  // namespace
}  // namespace espalier::machine
