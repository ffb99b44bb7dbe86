// In which order recursive halving divides different parts: all of them once, never the longer way round.

#include "algorithms/parts/part_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "choice/estimate.hpp"
#include "choice/parse.hpp"
#include "cost/estimate.hpp"
#include "verify/verify.hpp"

namespace espalier::algorithms {
namespace {

using plan::Operation;
using plan::Problem;
using topology::Topology;

Topology make_blocks(int nodes, int on_node) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(r / on_node);
  return Topology::from_nodes(node_of, {.single_copy = true});
}

Problem make_problem(std::vector<Bytes> counts) {
  Problem problem{Operation::reduce_scatter, 0, Rank(0), 8};
  for (const Bytes bytes : counts) problem.bytes += bytes;
  problem.bytes = (problem.bytes + counts.size() - 1) / counts.size();
  problem.counts = std::move(counts);
  return problem;
}

std::vector<Bytes> random_counts(std::mt19937& random, int ranks, Bytes unit) {
  std::vector<Bytes> counts(static_cast<std::size_t>(ranks));
  for (Bytes& bytes : counts) bytes = unit * (random() % 4 == 0 ? 0 : random() % 9);
  counts.front() = std::max(counts.front(), unit);
  return counts;
}

/// What `node` gives away in a round: the parts of those who agree with its partner in all bits that were divided by.
Bytes given(const std::vector<Bytes>& parts, int node, const std::vector<int>& bits, std::size_t round) {
  const int partner = node ^ (1 << bits[round]);
  int mask = 0;
  for (std::size_t i = 0; i <= round; ++i) mask |= 1 << bits[i];
  Bytes bytes = 0;
  for (int other = 0; other < static_cast<int>(parts.size()); ++other)
    if (((other ^ partner) & mask) == 0) bytes += parts[static_cast<std::size_t>(other)];
  return bytes;
}

TEST(PartOrder, HoldsAllPartsOnceAndKnowsTheLongestMessageOfEveryRound) {
  std::mt19937 random(1);
  for (const int nodes : {2, 4, 8, 32})
    for (const bool is_far_first : {false, true}) {
      const std::vector<Bytes> parts = random_counts(random, nodes, 1000);
      const PartOrder order(parts, is_far_first);
      std::vector<int> bits;
      for (int bit = 0; 1 << bit < nodes; ++bit) bits.push_back(bit);
      if (is_far_first) std::reverse(bits.begin(), bits.end());
      for (int node = 0; node < nodes; ++node) {
        const auto slice = static_cast<std::size_t>(order.slice_of(node));
        EXPECT_EQ(order.place_of(order.slice_of(node)), node);
        EXPECT_EQ(order.cuts()[slice + 1] - order.cuts()[slice], parts[static_cast<std::size_t>(node)]);
      }
      ASSERT_EQ(order.longest().size(), bits.size());
      for (std::size_t round = 0; round < bits.size(); ++round) {
        Bytes longest = 0;
        for (int node = 0; node < nodes; ++node) longest = std::max(longest, given(parts, node, bits, round));
        EXPECT_EQ(order.longest()[round], longest) << nodes << " nodes, round " << round;
      }
    }
}

TEST(PartOrder, IsFarFirstExactlyWhereThatIsShorterAndOperandsMayChangePlaces) {
  const Topology four = make_blocks(4, 1);
  Problem every_other = make_problem({4000, 12000, 4000, 12000});
  EXPECT_TRUE(derive_part_order(four, every_other).is_far_first()) << "16000 + 12000 instead of 24000 + 12000";
  EXPECT_EQ(derive_part_order(four, every_other).way(), 28000u);
  every_other.is_commutative = false;
  EXPECT_FALSE(derive_part_order(four, every_other).is_far_first());
  EXPECT_FALSE(derive_part_order(four, make_problem({4000, 4000, 12000, 12000})).is_far_first()) << "near is shorter";
  EXPECT_FALSE(derive_part_order(four, {Operation::reduce_scatter, 8000, Rank(0), 8}).is_far_first()) << "equal";
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    const int nodes = 2 << random() % 4;
    const std::vector<Bytes> counts = random_counts(random, nodes, 800);
    const PartOrder order = derive_part_order(make_blocks(nodes, 1), make_problem(counts));
    EXPECT_LE(order.way(), PartOrder(counts, false).way());
    EXPECT_LE(order.way(), PartOrder(counts, true).way());
  }
}

TEST(PartOrder, KeepsLongMessagesNearWhereCablesBetweenSwitchesAreFull) {
  std::vector<topology::Way> ways(4, {2.0F, 1e-4F});
  const auto crowded =
      topology::Distances::from_classes({0, 0, 1, 1}, ways).with_trunks({{0, 0, 1, 1}, {1e-3F, 1e-3F}});
  const Problem problem = make_problem({4000, 12000, 4000, 12000});
  EXPECT_FALSE(derive_part_order(make_blocks(4, 1).with_distances(crowded), problem).is_far_first());
}

TEST(PartOrder, EveryHalvingOfRandomBlocksIsAVerifiedPlan) {
  std::mt19937 random(3);
  int far = 0;
  for (int i = 0; i < 120; ++i) {
    const int nodes = 2 << random() % 3, on_node = 1 + static_cast<int>(random() % 3);
    const Topology topology = make_blocks(nodes, on_node);
    Problem problem = make_problem(random_counts(random, nodes * on_node, 8));
    problem.is_commutative = random() % 4 != 0;
    far += derive_part_order(topology, problem).is_far_first();
    const char* text = i % 2 == 0 ? "rabenseifner,cell=64,cells=2" : "rabenseifner,within=single_copy";
    const auto found =
        verify::verify(build_plan(topology, problem, choice::parse_choice(Operation::reduce_scatter, text)));
    EXPECT_TRUE(found.empty()) << nodes << " x " << on_node << ": " << verify::to_string(found.front());
  }
  EXPECT_GT(far, 20) << "or else this is a test of one order";
}

// One rank per node, so that the network is all there is.
TEST(PartOrder, TheClosedFormSaysWhatThePlayedPlanTakes) {
  std::mt19937 random(4);
  for (int i = 0; i < 40; ++i) {
    const int nodes = 2 << random() % 3;
    const Topology topology = make_blocks(nodes, 1);
    const Problem problem = make_problem(random_counts(random, nodes, 64 << 10));
    const plan::Choice choice = choice::parse_choice(Operation::reduce_scatter, "rabenseifner");
    const double played = cost::estimate_time(build_plan(topology, problem, choice)).total;
    EXPECT_NEAR(choice::estimate_choice(topology, problem, choice) / played, 1, 0.25) << nodes << " nodes";
  }
}

TEST(Halving, OfFewGrainsAmongManyLeadersDividesWhatTheySend) {
  const Problem problem{Operation::allreduce, 256, Rank(0), 4};
  for (const auto& [text, most] :
       {std::pair{"rabenseifner", 128u}, {"multi_group,groups=1,exchange=direct,radix=4", 64u}})
    for (int rank = 0; rank < 128; ++rank) {
      const plan::Choice choice = choice::parse_choice(Operation::allreduce, text);
      for (const plan::Step& step : build_program(make_blocks(64, 2), problem, choice, Rank(rank)).steps)
        if (step.op() == plan::Op::send) {
          EXPECT_LE(step.bytes(), most) << text;
          EXPECT_GT(step.bytes(), 0u) << text << ": nothing need not be sent";
        }
    }
}

TEST(HalvedReduceScatter, FoldsShortBlocksOfANodeAtOnceAndLongOnesNodeByNode) {
  const Topology topology = make_blocks(8, 4);
  const auto folds = [&](Bytes bytes) {
    int reductions = 0;
    const Problem problem{Operation::reduce_scatter, bytes, Rank(0), 8};
    const plan::Choice choice = choice::parse_choice(Operation::reduce_scatter, "rabenseifner,cell=32K,cells=4");
    for (const plan::Step& step : build_program(topology, problem, choice, Rank(1)).steps)
      reductions += step.op() == plan::Op::post && step.flag() == plan::Flag::taken;
    return reductions;
  };
  EXPECT_LT(folds(8), 8);
  EXPECT_GE(folds(4 << 10), 8);
}

TEST(HalvedReduceScatter, OfNodesBeyondAPowerOfTwoIsAVerifiedPlan) {
  for (const int nodes : {3, 5, 6, 7, 9})
    for (const Bytes bytes : {8, 8 << 10})
      for (const bool is_commutative : {true, false}) {
        Problem problem{Operation::reduce_scatter, bytes, Rank(0), 8};
        problem.is_commutative = is_commutative;
        const plan::Choice choice = choice::parse_choice(Operation::reduce_scatter, "rabenseifner,cell=32K,cells=2");
        const auto found = verify::verify(build_plan(make_blocks(nodes, 2), problem, choice));
        EXPECT_TRUE(found.empty()) << nodes << " nodes: " << verify::to_string(found.front());
      }
}

}  // namespace
}  // namespace espalier::algorithms
