// Operations that move data: proved on every placement, from every root, with equal, unequal and empty blocks.

#include <gtest/gtest.h>

#include <algorithm>

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
using plan::Choice;
using plan::Op;
using plan::Operation;
using plan::Problem;
using plan::Within;
using topology::Topology;

constexpr Operation movements[] = {Operation::broadcast, Operation::scatter, Operation::gather, Operation::allgather,
                                   Operation::alltoall};

Topology place(const testing::Placement& placement) {
  return Topology::from_nodes(placement.node_of, {.single_copy = true});
}

void expect_proved(const Topology& topology, const Problem& problem, const Choice& choice) {
  if (!why_invalid(topology, problem, choice).empty()) return;
  verify::Outcome outcome;
  verify::prove({topology, problem, choice}, outcome);
  for (const auto& failure : outcome.failures)
    ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
}

/// Equal blocks, some empty ones, all but one empty, none.
std::vector<std::vector<Bytes>> counts_of(Operation operation, int ranks) {
  if (operation == Operation::broadcast) return {{}};
  const auto blocks = static_cast<std::size_t>(operation == Operation::alltoall ? ranks * ranks : ranks);
  std::vector<std::vector<Bytes>> counts{
      {}, std::vector<Bytes>(blocks), std::vector<Bytes>(blocks), std::vector<Bytes>(blocks)};
  for (std::size_t i = 0; i < blocks; ++i) counts[1][i] = (i * 7 + 2) % 5 * 97;
  counts[2][blocks / 2] = 1000;
  return counts;
}

class Movements : public ::testing::TestWithParam<int> {};

TEST_P(Movements, AreRightFromEveryRootWithAnyBlocks) {
  const Topology topology = place(testing::placements()[static_cast<std::size_t>(GetParam())]);
  const int ranks = topology.ranks();
  for (const Algorithm& algorithm : algorithms())
    for (const Choice& choice : {Choice{algorithm.between, Within::cells, 2, 0, 128, 2},
                                 Choice{algorithm.between, Within::cells, 3, 1024, 16 << 10, 4},
                                 Choice{algorithm.between, Within::single_copy, 2, 1024}}) {
      if (is_reduction(algorithm.operation) || algorithm.operation == Operation::barrier) continue;
      for (int root = 0; root < (has_root(algorithm.operation) ? ranks : 1); ++root)
        for (std::vector<Bytes>& counts : counts_of(algorithm.operation, ranks))
          expect_proved(topology, {algorithm.operation, 300, Rank(root), 1, true, std::move(counts)}, choice);
    }
}

INSTANTIATE_TEST_SUITE_P(Placements, Movements, ::testing::Range(0, static_cast<int>(testing::placements().size())),
                         [](const auto& info) {
                           return testing::placements()[static_cast<std::size_t>(info.param)].name;
                         });

TEST(Choose, IsAlwaysValidAndRight) {
  for (const testing::Placement& placement : testing::placements())
    for (const Operation operation : movements)
      for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{500}, Bytes{5000}, Bytes{70000}, Bytes{1} << 20}) {
        const Topology topology = place(placement);
        const Problem problem{operation, bytes, Rank(topology.ranks() - 1)};
        const Choice choice = choice::choose(topology, problem);
        EXPECT_EQ(why_invalid(topology, problem, choice), "") << placement.name << " " << name(operation) << bytes;
        if (bytes <= 70000) expect_proved(topology, problem, choice);
      }
}

int count(const plan::Program& program, Op op) {
  return static_cast<int>(std::count_if(program.steps.begin(), program.steps.end(),
                                        [&](const plan::Step& step) { return step.op() == op; }));
}

TEST(Allgather, OfRanksThatAreAloneOnTheirNodesSendsTheirBlocksBeforeItCopiesThem) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 2, 3});
  for (const char* choice : {"ring", "recursive_doubling", "bruck"}) {
    const Problem problem{Operation::allgather, 1000};
    const plan::Plan plan = build_plan(topology, problem, choice::parse_choice(problem.operation, choice));
    const auto& steps = plan.programs[2].steps;
    const auto first = [&](Op op) {
      return std::find_if(steps.begin(), steps.end(), [&](const plan::Step& step) { return step.op() == op; });
    };
    EXPECT_EQ(first(Op::send)->buffer(), plan::Buffer::input) << choice;
    EXPECT_LT(first(Op::send), first(Op::copy)) << choice;
  }
}

TEST(Scatter, ReceivesStraightIntoTheCellsOfItsLeader) {
  const Topology topology = Topology::from_nodes(std::vector{0, 0, 1, 1, 1});
  const plan::Plan plan =
      build_plan(topology, {Operation::scatter, 1000}, {Between::flat, Within::cells, 2, 0, 4096, 1});
  EXPECT_EQ(plan.programs[2].scratch_bytes, 0u);
  EXPECT_EQ(count(plan.programs[2], Op::put), 0);
  EXPECT_EQ(count(plan.programs[3], Op::get), 1);
}

TEST(Scatter, SendsABlockPlacedJobWithoutPacking) {
  const Topology topology = Topology::from_nodes(std::vector{0, 0, 1, 1, 2, 2});
  const plan::Plan plan = build_plan(topology, {Operation::scatter, 1000, Rank(3)}, {Between::flat});
  EXPECT_EQ(count(plan.programs[3], Op::send), 2);
  EXPECT_EQ(plan.programs[3].scratch_bytes, 0u);
}

TEST(AllToAll, OfLeadersSendsOneMessageForEachPairOfNodes) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 0, 1, 2, 2, 2});
  const Problem problem{Operation::alltoall, 8};
  const plan::Plan plan = build_plan(topology, problem, {Between::flat, Within::cells, 2, 0, 4096, 1});
  int sends = 0;
  for (const plan::Program& program : plan.programs) sends += count(program, Op::send);
  EXPECT_EQ(sends, 3 * 2);
}

TEST(AllToAll, OfLeadersSaysWhenItsCellsAreTooFew) {
  const Topology topology = Topology::from_nodes(std::vector{0, 0, 1, 1});
  const Choice choice{Between::flat, Within::cells, 2, 0, 1024, 1};
  EXPECT_EQ(why_invalid(topology, {Operation::alltoall, 64}, choice), "");
  EXPECT_NE(why_invalid(topology, {Operation::alltoall, 1000}, choice), "");
  EXPECT_NE(why_invalid(Topology::from_nodes(std::vector{0, 0}), {Operation::alltoall, 8}, choice), "");
}

TEST(ScatterAllgather, NeverSendsALeaderWhatItHas) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 2, 3, 4, 5, 6});
  for (const char* choice : {"scatter_allgather", "scatter_allgather,exchange=bruck",
                             "scatter_allgather,exchange=bruck,radix=4", "scatter_allgather,exchange=bruck,radix=7"}) {
    const Problem problem{Operation::broadcast, 7000};
    const plan::Plan plan = build_plan(topology, problem, choice::parse_choice(problem.operation, choice));
    for (std::size_t rank = 1; rank < 7; ++rank) {
      Bytes received = 0;
      for (const plan::Step& step : plan.programs[rank].steps)
        if (step.op() == Op::recv) received += step.bytes();
      EXPECT_EQ(received, 7000u) << rank << " by " << choice;
    }
    EXPECT_EQ(count(plan.programs[0], Op::recv), 0) << choice;
  }
}

TEST(ScatterAllgather, ByBruckTakesAsManyRoundsAsTheTree) {
  std::vector<int> node_of;
  for (int node = 0; node < 16; ++node) node_of.push_back(node);
  const Problem problem{Operation::broadcast, 64 << 10};
  const plan::Plan plan =
      build_plan(Topology::from_nodes(node_of), problem,
                 choice::parse_choice(problem.operation, "scatter_allgather,exchange=bruck,radix=4"));
  for (std::size_t rank = 1; rank < 16; ++rank) EXPECT_LE(count(plan.programs[rank], Op::recv), 1 + 2 * 3 + 1) << rank;
}

}  // namespace
}  // namespace espalier::algorithms
