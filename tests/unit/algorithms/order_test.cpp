// Trees and rings laid onto a network: who sends to whom follows what is known of it.

#include <gtest/gtest.h>

#include <set>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "choice/parse.hpp"
#include "verify/verify.hpp"

namespace espalier::algorithms {
namespace {

using plan::Operation;
using plan::Problem;
using topology::Distances;
using topology::Topology;

/// Two ranks on each of 8 nodes, nodes in turn on two switches, rank after rank on the next node.
Topology two_switches() {
  std::vector<int> node_of, switch_of;
  for (int r = 0; r < 16; ++r) node_of.push_back(r % 8);
  for (int n = 0; n < 8; ++n) switch_of.push_back(n % 2);
  const topology::Way near{1.57F, 1e-4F}, far{2.45F, 2e-4F};
  return Topology::from_nodes(node_of).with_distances(Distances::from_classes(switch_of, {near, far, far, near}));
}

int count_crossings(const plan::Plan& plan) {
  int crossings = 0;
  for (int r = 0; r < plan.topology.ranks(); ++r)
    for (const plan::Step& step : plan.programs[static_cast<std::size_t>(r)].steps)
      if (step.op() == plan::Op::send)
        crossings += plan.topology.node_of(Rank(r)).value % 2 != plan.topology.node_of(step.peer()).value % 2;
  return crossings;
}

int crossings(Operation operation, Bytes bytes, int root, const char* choice) {
  const Problem problem{operation, bytes, Rank(root), 1};
  const plan::Plan plan = build_plan(two_switches(), problem, choice::parse_choice(operation, choice));
  for (const auto& violation : verify::verify(plan)) ADD_FAILURE() << verify::to_string(violation);
  return count_crossings(plan);
}

TEST(NodeOrder, OfAChainLeavesTheRootsSwitchOnce) {
  EXPECT_EQ(crossings(Operation::broadcast, 1000, 3, "chain,order=natural"), 7);
  EXPECT_EQ(crossings(Operation::broadcast, 1000, 3, "chain"), 1);
}

TEST(NodeOrder, OfATreeCrossesBetweenSwitchesLess) {
  EXPECT_LT(crossings(Operation::broadcast, 64 << 10, 5, "knomial,order=depth"),
            crossings(Operation::broadcast, 64 << 10, 5, "knomial,radix=8,order=natural"));
  EXPECT_LE(crossings(Operation::reduce, 64, 5, "knomial,order=depth"), 3);
}

TEST(NodeOrder, OfABinaryTreeCrossesBetweenSwitchesLess) {
  EXPECT_LT(crossings(Operation::broadcast, 64 << 10, 5, "binary,segment=16K"),
            crossings(Operation::broadcast, 64 << 10, 5, "binary,segment=16K,order=natural"));
}

TEST(NodeOrder, OfARingCrossesTwicePerRound) {
  EXPECT_EQ(crossings(Operation::allgather, 100, 0, "ring,order=natural"), 8 * 7);
  EXPECT_EQ(crossings(Operation::allgather, 100, 0, "ring"), 2 * 7);
  EXPECT_EQ(crossings(Operation::allreduce, 800, 0, "ring"), 2 * 14);
}

// Whatever the order, a message to a subtree is one message, which its root packs.
TEST(NodeOrder, OfAScatterOrGatherCostsNoMoreMessages) {
  for (const Operation operation : {Operation::scatter, Operation::gather})
    for (const char* choice : {"knomial,order=breadth", "knomial,order=depth", "knomial,radix=4,order=depth"}) {
      const Problem problem{operation, 100, Rank(3), 1};
      const plan::Plan plan = build_plan(two_switches(), problem, choice::parse_choice(operation, choice));
      int messages = 0;
      for (const plan::Program& program : plan.programs)
        for (const plan::Step& step : program.steps) messages += step.op() == plan::Op::send;
      EXPECT_EQ(messages, 7) << choice;
      EXPECT_TRUE(verify::verify(plan).empty()) << choice;
    }
}

/// Messages between switches of `below` consecutive nodes, which nobody has told the library about.
int far_messages(Operation operation, const char* choice, int nodes, int below) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes; ++r) node_of.push_back(r);
  const Problem problem{operation, 1000, Rank(5), 1};
  const plan::Plan plan = build_plan(Topology::from_nodes(node_of), problem, choice::parse_choice(operation, choice));
  EXPECT_TRUE(verify::verify(plan).empty());
  int far = 0;
  for (int r = 0; r < nodes; ++r)
    for (const plan::Step& step : plan.programs[static_cast<std::size_t>(r)].steps)
      if (step.op() == plan::Op::send) far += r / below != step.peer().value / below;
  return far;
}

TEST(NodeOrder, OfABineTreeSendsFewerMessagesFarThoughNothingIsKnown) {
  for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::scatter, Operation::gather})
    for (const int nodes : {32, 48, 50, 64})
      for (const int below : {4, 6, 8})
        EXPECT_LE(far_messages(operation, "knomial,order=bine", nodes, below),
                  far_messages(operation, "knomial,order=natural", nodes, below))
            << nodes << " nodes, " << below << " per switch";
}

TEST(NodeOrder, IsDerivedOncePerTopology) {
  const Topology topology = two_switches();
  const Problem problem{Operation::broadcast, 1000, Rank(3), 1};
  const plan::Choice choice = choice::parse_choice(Operation::broadcast, "chain");
  EXPECT_EQ(build_program(topology, problem, choice, Rank(0)).steps,
            build_program(topology, problem, choice, Rank(0)).steps);
  EXPECT_EQ(plan::to_string(choice::parse_choice(Operation::broadcast, "chain,order=depth")).find(",order=depth"), 5u);
}

}  // namespace
}  // namespace espalier::algorithms
