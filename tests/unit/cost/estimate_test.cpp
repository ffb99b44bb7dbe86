// Estimates order plans as machines do.

#include "cost/estimate.hpp"

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "placements.hpp"

namespace espalier::cost {
namespace {

using plan::Operation;
using topology::Topology;

double time_of(const std::vector<int>& node_of, Operation operation, Bytes bytes, const std::string& choice,
               topology::Capabilities can = {.single_copy = true}, const Parameters& parameters = {}) {
  const Topology topology = Topology::from_nodes(node_of, can);
  const plan::Plan plan =
      algorithms::build_plan(topology, {operation, bytes, Rank(0)}, choice::parse_choice(operation, choice));
  return estimate_time(plan, parameters).total;
}

std::vector<int> one_per_node(int nodes) {
  std::vector<int> node_of;
  for (int n = 0; n < nodes; ++n) node_of.push_back(n);
  return node_of;
}

TEST(Estimate, ABarrierOfTwoIsAFlagsWay) {
  const Parameters is;
  const double time = time_of({0, 0}, Operation::barrier, 0, "dissemination");
  EXPECT_GE(time, is.flag);
  EXPECT_LE(time, is.flag + 10 * is.step);
}

TEST(Estimate, AMessageTakesLatencyOverheadsAndBytes) {
  const Parameters is;
  const double time = time_of({0, 1}, Operation::broadcast, 100000, "knomial");
  EXPECT_NEAR(time, 2 * is.overhead + is.latency + 100000 / is.link_rate, 10 * is.step);
}

TEST(Estimate, ShortBroadcastsWantFewRoundsLongOnesSegments) {
  const std::vector<int> nodes = one_per_node(16);
  EXPECT_LT(time_of(nodes, Operation::broadcast, 64, "knomial"), time_of(nodes, Operation::broadcast, 64, "chain"));
  EXPECT_LT(time_of(nodes, Operation::broadcast, 4 << 20, "chain,segment=64K"),
            time_of(nodes, Operation::broadcast, 4 << 20, "knomial"));
}

TEST(Estimate, ShortAllgathersWantFewRounds) {
  const std::vector<int> nodes = one_per_node(16);
  EXPECT_LT(time_of(nodes, Operation::allgather, 8, "recursive_doubling"),
            time_of(nodes, Operation::allgather, 8, "ring"));
}

TEST(Estimate, MessagesOfANodeShareItsLink) {
  // Two nodes of one rank each, and a third: the root sends twice, one behind the other.
  const Parameters is;
  const double one = time_of(one_per_node(2), Operation::broadcast, 1 << 20, "knomial");
  const double two = time_of(one_per_node(3), Operation::broadcast, 1 << 20, "knomial,radix=3");
  EXPECT_NEAR(two - one, (1 << 20) / is.link_rate, 2 * is.overhead + 10 * is.step);
}

TEST(Estimate, MessagesEnterANodeAsTheyComeWhoeverIsPlayedFirst) {
  // 16 ranks of each of four nodes send to all of the others at once: everybody's link is as busy as everybody else's.
  std::vector<int> node_of;
  for (int r = 0; r < 64; ++r) node_of.push_back(r / 16);
  const Parameters is;
  const double time = time_of(node_of, Operation::alltoall, 32 << 10, "pairwise,connections=1024");
  const double links = 16 * 48 * (32 << 10) / is.link_rate;
  EXPECT_GE(time, links);
  EXPECT_LT(time, 1.1 * links);
}

TEST(Estimate, AConnectionCarriesNoMoreThanItsRateHoweverIdleTheLink) {
  Parameters is;
  is.flow_rate = is.link_rate / 4;
  const double delay = 2 * is.overhead + is.latency, flow = 100000 / is.flow_rate;
  const auto chain = [&](const std::string& segment) {
    return time_of({0, 1}, Operation::broadcast, 100000, "chain" + segment, {}, is);
  };
  EXPECT_NEAR(chain(""), delay + flow, 10 * is.step);
  EXPECT_NEAR(chain(",segment=1K"), delay + flow, 110 * (is.step + is.overhead)) << "segments share the connection";
}

TEST(Estimate, ConnectionsSideBySideFillTheLinkThatOneDoesNot) {
  Parameters is;
  is.flow_rate = is.link_rate / 1.8;
  const auto take = [&](const std::string& groups) {
    return time_of({0, 0, 0, 0, 1, 1, 1, 1}, Operation::broadcast, 4 << 20, "multi_group,segment=64K,groups=" + groups,
                   {}, is);
  };
  EXPECT_NEAR(take("1"), (4 << 20) / is.flow_rate, 0.25 * take("1"));
  EXPECT_LT(take("2"), 0.75 * take("1"));
  EXPECT_LT(take("4"), 1.1 * take("2"));
}

TEST(Estimate, LargeMessagesOnANodeWantSingleCopyOrAPipeline) {
  const std::vector<int> node(4, 0);
  const double one_cell = time_of(node, Operation::broadcast, 256 << 10, "knomial,cell=32K,cells=1");
  EXPECT_LT(time_of(node, Operation::broadcast, 256 << 10, "knomial,cell=32K,cells=8"), one_cell);
  EXPECT_LT(time_of(node, Operation::broadcast, 256 << 10, "knomial,within=single_copy"), one_cell);
}

TEST(Estimate, CoresAreSharedWhereTheyAreFew) {
  const std::vector<int> node(8, 0);
  const topology::Capabilities crowded{.single_copy = true, .oversubscribed = true};
  const double alone = time_of(node, Operation::allgather, 32 << 10, "ring");
  EXPECT_GT(time_of(node, Operation::allgather, 32 << 10, "ring", crowded), 2 * alone);
}

TEST(Estimate, WhatRanksHaveAgreedOnTellsHowManyCoresTheyShare) {
  const std::vector<int> node(16, 0);
  const auto time_on = [&](int cores) {
    return time_of(node, Operation::allgather, 32 << 10, "ring",
                   {.single_copy = true, .oversubscribed = true, .shared_cores = cores});
  };
  Parameters two;
  two.cores = 2;
  EXPECT_EQ(time_on(2),
            time_of(node, Operation::allgather, 32 << 10, "ring", {.single_copy = true, .oversubscribed = true}, two));
  EXPECT_LT(time_on(8), time_on(2) / 2);
}

TEST(Estimate, ALongMessageWaitsForItsReceiverAShortOneDoesNot) {
  // A tree hands on what it has received: only the last receiver's side differs, and it is ready early in both.
  Parameters buffered, waiting;
  waiting.eager = 0;
  const std::vector<int> nodes = one_per_node(8);
  EXPECT_LE(time_of(nodes, Operation::alltoall, 4096, "pairwise", {}, buffered),
            time_of(nodes, Operation::alltoall, 4096, "pairwise", {}, waiting));
}

class OnPlacement : public ::testing::TestWithParam<int> {};

TEST_P(OnPlacement, EveryPlanEndsAndMoreBytesTakeNoLess) {
  const testing::Placement& placement = testing::placements()[static_cast<std::size_t>(GetParam())];
  const Topology topology = Topology::from_nodes(placement.node_of, {.single_copy = true});
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms()) {
    double before = 0;
    for (const Bytes bytes : {Bytes{64}, Bytes{64} << 10}) {
      const plan::Choice choice = choice::parse_choice(algorithm.operation, algorithm.name());
      const plan::Problem problem{algorithm.operation, algorithm.operation == Operation::barrier ? 0 : bytes};
      if (!algorithms::why_invalid(topology, problem, choice).empty()) continue;
      const Estimate estimate = estimate_time(algorithms::build_plan(topology, problem, choice));
      EXPECT_EQ(estimate.ends.size(), static_cast<std::size_t>(topology.ranks()));
      EXPECT_GE(estimate.total, before) << algorithm.name();
      before = estimate.total;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cost, OnPlacement, ::testing::Range(0, static_cast<int>(testing::placements().size())),
                         [](const auto& info) {
                           return testing::placements()[static_cast<std::size_t>(info.param)].name;
                         });

TEST(Record, HoldsEveryStepAndEveryMessageOfTheSamePlay) {
  const Topology topology = Topology::from_nodes(std::vector<int>{0, 0, 1, 2, 2}, {.single_copy = true});
  const plan::Plan plan = algorithms::build_plan(topology, {Operation::broadcast, 100000, Rank(0)},
                                                 choice::parse_choice(Operation::broadcast, "chain,segment=16K"));
  const Record record = record_play(plan);
  EXPECT_EQ(record.total, estimate_time(plan).total);
  std::size_t steps = 0, messages = 0;
  for (const plan::Program& program : plan.programs) {
    steps += program.steps.size();
    for (const plan::Step& step : program.steps) messages += step.op() == plan::Op::send;
  }
  EXPECT_EQ(record.spans.size(), steps);
  ASSERT_EQ(record.flights.size(), messages);
  for (const Flight& flight : record.flights) EXPECT_GE(flight.arrival, flight.set_out + Parameters{}.latency);
}

}  // namespace
}  // namespace espalier::cost
