// Prefixes between many nodes: right on every placement, in order, in few rounds, and chosen where that pays.

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "placements.hpp"
#include "verify/plans/specimen.hpp"

namespace espalier::algorithms {
namespace {

using plan::Between;
using plan::Op;
using plan::Operation;
using plan::Problem;
using testing::Mapping;
using testing::place;
using topology::Topology;

Problem vector_of(Operation operation, Bytes bytes, bool is_commutative = true) {
  Problem problem{operation, bytes};
  problem.element = 8;
  problem.is_commutative = is_commutative;
  return problem;
}

int count_sends(const Topology& topology, const Problem& problem, const plan::Choice& choice, Rank rank) {
  int sends = 0;
  for (const plan::Step& step : build_program(topology, problem, choice, rank).steps) sends += step.op() == Op::send;
  return sends;
}

TEST(DoublingScan, IsProvedOnEveryPlacementAndKeepsOrder) {
  for (const Operation operation : {Operation::scan, Operation::exscan})
    for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
      for (const auto& [nodes, on_node] : {std::pair{3, 1}, {2, 3}, {5, 2}, {8, 3}, {13, 1}})
        for (const Bytes bytes : {8, 64, 200})
          for (const char* text : {"recursive_doubling,cell=64,cells=6", "recursive_doubling,cell=256,cells=8"}) {
            const Topology topology = place(nodes, on_node, mapping);
            const Problem problem = vector_of(operation, bytes, false);
            const plan::Choice choice = choice::parse_choice(operation, text);
            ASSERT_EQ(why_invalid(topology, problem, choice), "");
            verify::Outcome outcome;
            verify::prove({topology, problem, choice}, outcome);
            for (const auto& failure : outcome.failures)
              ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
          }
}

TEST(DoublingScan, TakesAsManyMessagesPerLeaderAsThereAreRounds) {
  const Topology topology = place(100, 4);
  const Problem problem = vector_of(Operation::scan, 8);
  const plan::Choice choice = choice::parse_choice(Operation::scan, "recursive_doubling,cell=64,cells=1");
  for (int rank = 0; rank < topology.ranks(); ++rank)
    EXPECT_LE(count_sends(topology, problem, choice, Rank(rank)), rank % 4 == 3 ? 7 : 0) << rank;
  EXPECT_EQ(count_sends(topology, problem, choice, Rank(3)), 7);
}

TEST(DoublingScan, IsChosenForShortVectorsOnManyNodesAndTheChainForLongOnes) {
  for (const Operation operation : {Operation::scan, Operation::exscan})
    for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven}) {
      const Topology topology = place(64, 4, mapping);
      EXPECT_EQ(choice::choose(topology, vector_of(operation, 8)).between, Between::recursive_doubling);
      EXPECT_EQ(choice::choose(topology, vector_of(operation, 64 << 10)).between, Between::recursive_doubling);
      EXPECT_EQ(choice::choose(topology, vector_of(operation, 4 << 20)).between, Between::chain);
    }
}

TEST(DoublingScan, SaysWhatItNeeds) {
  const Problem problem = vector_of(Operation::scan, 8);
  EXPECT_NE(why_invalid(place(1, 4), problem, choice::parse_choice(Operation::scan, "recursive_doubling")), "");
  const plan::Choice few = choice::parse_choice(Operation::scan, "recursive_doubling,cell=64,cells=2");
  EXPECT_EQ(why_invalid(place(4, 4), problem, few), "");
  EXPECT_EQ(why_invalid(place(4, 4, Mapping::cyclic), problem, few),
            "where nodes do not hold consecutive ranks, each of 4 rounds has a cell of its own");
}

}  // namespace
}  // namespace espalier::algorithms
