// Table 1 of Wu, Kendall and Aluru: one stage where the data fit, a pipeline where they do not; and nobody waits for
// more than he must. That the bytes are right is the verifier's business (tests/unit/algorithms).

#include <gtest/gtest.h>

#include "smp/move/collect.hpp"
#include "smp/move/deal.hpp"
#include "smp/move/swap.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::smp {
namespace {

using plan::Builder;
using plan::Flag;
using plan::Op;
using plan::Operation;
using plan::Problem;
using plan::Program;
using plan::Step;
using topology::Topology;

const Topology& node_of_4() {
  static const Topology topology = Topology::from_nodes(std::vector{0, 0, 0, 0}, {.single_copy = true});
  return topology;
}

plan::Choice choice_of(Bytes cell, int cells) {
  plan::Choice choice;
  choice.cell = cell;
  choice.cells = cells;
  return choice;
}

/// By single copy, to rank 0.
std::vector<Step> reduce(int me, Bytes bytes) {
  Builder builder(node_of_4(), Rank(me));
  plan::Choice choice;
  choice.within = plan::Within::single_copy;
  const Problem problem{Operation::reduce, bytes, Rank(0), 8};
  NodeReduction node(builder, problem, choice, LocalRank(0), plan::Buffer::output, 0);
  node.reduce(0, 0, bytes);
  node.end();
  return std::move(builder).take().steps;
}

Bytes bytes_of(const std::vector<Step>& steps, Op op) {
  Bytes bytes = 0;
  for (const Step& step : steps)
    if (step.op() == op) bytes += step.bytes();
  return bytes;
}

int count(const std::vector<Step>& steps, Op op) {
  return static_cast<int>(std::count_if(steps.begin(), steps.end(), [&](const Step& s) { return s.op() == op; }));
}

std::vector<Step> deal(int me, Bytes block, const plan::Choice& choice) {
  Builder builder(node_of_4(), Rank(me));
  const NodeMajor order(node_of_4(), {Operation::scatter, block});
  deal_blocks(builder, choice, LocalRank(0), plan::Buffer::input, NodeBlocks::among_all(node_of_4(), NodeId(0), order));
  return std::move(builder).take().steps;
}

std::vector<Step> collect(int me, Bytes block, const plan::Choice& choice) {
  Builder builder(node_of_4(), Rank(me));
  const NodeMajor order(node_of_4(), {Operation::gather, block});
  collect_blocks(builder, choice, LocalRank(0), NodeBlocks::among_all(node_of_4(), NodeId(0), order),
                 plan::Buffer::output);
  return std::move(builder).take().steps;
}

std::vector<Step> swap(int me, Bytes block, const plan::Choice& choice) {
  Builder builder(node_of_4(), Rank(me));
  const Problem problem{Operation::alltoall, block};
  swap_blocks(builder, choice, plan::PairBlocks(problem, 4));
  return std::move(builder).take().steps;
}

TEST(Scatter, ThatFitsOneCellIsOnePutOneSyncOneGet) {
  const std::vector<Step> root = deal(0, 100, choice_of(300, 1));
  EXPECT_EQ(count(root, Op::put), 1);
  EXPECT_EQ(count(root, Op::post), 2);  // ready, done
  EXPECT_EQ(count(root, Op::await), 0);
  const std::vector<Step> reader = deal(2, 100, choice_of(300, 1));
  EXPECT_EQ(reader,
            (std::vector{Step::await(LocalRank(0), Flag::ready, 1),
                         Step::get(LocalRank(0), 100, plan::Buffer::output, 0, 100), Step::post(Flag::done, 1)}));
}

TEST(Scatter, WaitsOnlyForTheReaderOfTheCell) {
  const std::vector<Step> root = deal(0, 100, choice_of(100, 2));  // pieces of ranks 1, 2, 3 through cells 0, 1, 0
  EXPECT_EQ(count(root, Op::await), 1);
  EXPECT_EQ(count(root, Op::await_all), 1);  // the claim
  EXPECT_NE(std::find(root.begin(), root.end(), Step::await(LocalRank(1), Flag::taken, 1)), root.end());
}

TEST(Scatter, DoesNotSayWhatNobodyAsks) {
  for (const int reader : {2, 3}) {
    const std::vector<Step> steps = deal(reader, 100, choice_of(100, 2));
    EXPECT_EQ(count(steps, Op::post), 1) << reader;  // done: no cell of its is used again
  }
}

TEST(Gather, ThatFitsOneCellIsOneStage) {
  EXPECT_EQ(count(collect(1, 100, choice_of(128, 1)), Op::put), 1);
  EXPECT_EQ(count(collect(1, 100, choice_of(128, 1)), Op::await), 0);
  const std::vector<Step> root = collect(0, 100, choice_of(128, 1));
  EXPECT_EQ(count(root, Op::get), 3);
  EXPECT_EQ(count(root, Op::post), 1);
}

TEST(Gather, InPiecesFreesCells) {
  const std::vector<Step> writer = collect(1, 300, choice_of(100, 2));
  EXPECT_EQ(count(writer, Op::put), 3);
  EXPECT_EQ(count(writer, Op::await), 1);
}

TEST(Gather, InTurnSaysAfterEachPieceHowFarItHasCome) {
  Builder builder(node_of_4(), Rank(1));
  const NodeMajor order(node_of_4(), {Operation::gather, 100});
  std::vector<Bytes> ends;
  collect_in_turn(builder, choice_of(64, 2), LocalRank(1), NodeBlocks::from(0, node_of_4(), NodeId(0), order),
                  plan::Buffer::scratch, [&](Bytes end) { ends.push_back(end); });
  EXPECT_EQ(ends, (std::vector<Bytes>{64, 100, 100, 200, 264, 300, 300, 364, 400, 400}));
}

TEST(Scatter, AsksForEveryStretchBeforeItIsDealt) {
  Builder builder(node_of_4(), Rank(0));
  const NodeMajor order(node_of_4(), {Operation::scatter, 100});
  std::vector<std::pair<Bytes, Bytes>> asked;
  deal_blocks(builder, choice_of(150, 2), LocalRank(0), plan::Buffer::scratch,
              NodeBlocks::from(0, node_of_4(), NodeId(0), order),
              [&](Bytes begin, Bytes end) { asked.emplace_back(begin, end); });
  EXPECT_EQ(asked, (std::vector<std::pair<Bytes, Bytes>>{{100, 200}, {200, 250}, {250, 300}, {300, 400}, {0, 100}}));
}

TEST(AllToAll, ThatFitsOneCellIsOneStage) {
  const std::vector<Step> steps = swap(1, 64, choice_of(192, 1));
  EXPECT_EQ(count(steps, Op::put), 2);   // for ranks 2 and 3, and for rank 0
  EXPECT_EQ(count(steps, Op::post), 2);  // ready, done
  EXPECT_EQ(count(steps, Op::get), 3);
  EXPECT_EQ(count(steps, Op::await), 3);
}

TEST(AllToAll, OfLongBlocksIsPairwise) {
  const std::vector<Step> steps = swap(1, 64, choice_of(64, 4));
  EXPECT_EQ(count(steps, Op::put), 3);
  EXPECT_EQ(count(steps, Op::post), 4);
}

TEST(AllToAll, StartsAtTheNeighbourThatServesIt) {
  const std::vector<Step> steps = swap(1, 64, choice_of(64, 1));
  const auto first = std::find_if(steps.begin(), steps.end(), [](const Step& s) { return s.op() == Op::get; });
  ASSERT_NE(first, steps.end());
  EXPECT_EQ(first->neighbour(), LocalRank(0));
}

TEST(SingleCopy, CopiesEveryBlockOnce) {
  plan::Choice choice = choice_of(64, 1);
  choice.within = plan::Within::single_copy;
  EXPECT_EQ(count(deal(2, 1000, choice), Op::pull), 1);
  EXPECT_EQ(count(collect(2, 1000, choice), Op::push), 1);
  EXPECT_EQ(count(swap(2, 1000, choice), Op::pull), 3);
}

TEST(SingleCopy, OfAShortReduceIsTheLeadersAlone) {
  EXPECT_EQ(count(reduce(0, 16 << 10), Op::pull), 3);
  EXPECT_EQ(count(reduce(0, 16 << 10), Op::reduce), 3);
  EXPECT_EQ(count(reduce(2, 16 << 10), Op::pull) + count(reduce(2, 16 << 10), Op::push), 0);
}

TEST(SingleCopy, OfALongReduceGivesTheLeaderMoreSinceTheOthersPushTheirs) {
  constexpr Bytes bytes = 384 << 10;
  const Bytes leading = bytes_of(reduce(0, bytes), Op::pull) / 3, led = bytes_of(reduce(2, bytes), Op::pull) / 3;
  EXPECT_NEAR(static_cast<double>(leading + 3 * led), bytes, 64) << "whole grains each";
  EXPECT_EQ(bytes_of(reduce(2, bytes), Op::push), led);
  EXPECT_NEAR(static_cast<double>(leading), 11.0 / 9 * static_cast<double>(led), 64)
      << "three vectors: 9 of work, 2 of pushing";
}

TEST(SingleCopy, OfAReduceInPiecesMakesThemEquallyLong) {
  const std::vector<Step> root = reduce(0, 1 << 20);
  Bytes least = 1 << 20, most = 0;
  for (const Step& step : root) {
    if (step.op() != Op::pull) continue;
    least = std::min(least, step.bytes());
    most = std::max(most, step.bytes());
  }
  EXPECT_LE(most - least, 64);
  EXPECT_LE(most, 128 << 10);
}

}  // namespace
}  // namespace espalier::smp
