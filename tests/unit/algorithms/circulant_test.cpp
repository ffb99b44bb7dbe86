// Broadcast and reduce over a circulant graph: right everywhere, and as few bytes as there can be.

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "placements.hpp"
#include "plan/traffic.hpp"
#include "verify/plans/specimen.hpp"

namespace espalier::algorithms {
namespace {

using plan::Operation;
using topology::Topology;

void prove(Operation operation, const std::string& choice) {
  for (const testing::Placement& placement : testing::placements()) {
    const Topology topology = Topology::from_nodes(placement.node_of, {.single_copy = true});
    for (int root = 0; root < topology.ranks(); ++root) {
      verify::Outcome outcome;
      const plan::Problem problem{operation, 9000, Rank(root), 8};
      verify::prove({topology, problem, choice::parse_choice(operation, choice)}, outcome);
      for (const auto& failure : outcome.failures)
        ADD_FAILURE() << placement.name << ": " << to_string(failure.violation) << "\n  " << failure.reproducer;
    }
  }
}

TEST(Circulant, BroadcastsAreRightOnEveryPlacementFromEveryRoot) {
  prove(Operation::broadcast, "circulant,segment=1K,cell=1K,cells=2");
  prove(Operation::broadcast, "circulant,segment=1K,within=single_copy");
}

TEST(Circulant, ReducesAreRightOnEveryPlacementToEveryRoot) {
  prove(Operation::reduce, "circulant,segment=1K,cell=1K,cells=2");
  prove(Operation::reduce, "circulant,segment=1K,within=single_copy");
}

/// Bytes that one rank sends.
Bytes sent(const plan::Program& program) {
  Bytes bytes = 0;
  for (const plan::Step& step : program.steps)
    if (step.op() == plan::Op::send) bytes += step.bytes();
  return bytes;
}

TEST(Circulant, NobodySendsMuchMoreThanTheMessage) {
  for (const int nodes : {3, 7, 12, 33, 48}) {
    std::vector<int> node_of;
    for (int node = 0; node < nodes; ++node) node_of.push_back(node);
    const Topology topology = Topology::from_nodes(node_of, {});
    for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
      const plan::Problem problem{operation, 64 << 10, Rank(0), 8};
      const plan::Plan plan = build_plan(topology, problem, choice::parse_choice(operation, "circulant,segment=1K"));
      for (const plan::Program& program : plan.programs)
        EXPECT_LE(sent(program), (64u + 6u) << 10) << plan::name(operation) << " among " << nodes;
    }
  }
}

TEST(Circulant, LeavesOperandsThatMayNotChangePlacesAlone) {
  const Topology topology = Topology::from_nodes(std::vector<int>{0, 1, 2}, {});
  plan::Problem problem{Operation::reduce, 64, Rank(0), 8};
  problem.is_commutative = false;
  EXPECT_NE(why_invalid(topology, problem, choice::parse_choice(Operation::reduce, "circulant")), "");
}

}  // namespace
}  // namespace espalier::algorithms
