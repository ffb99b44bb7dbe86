// Closed forms say what playing the whole plan through says, for every algorithm.

#include "choice/estimate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "cost/estimate.hpp"
#include "placements.hpp"
#include "plan/graphs.hpp"
#include "shortest.hpp"

namespace espalier::choice {
namespace {

using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;
using topology::Topology;

template <class T>
T pick(std::mt19937& random, const std::vector<T>& values) {
  return values[random() % values.size()];
}

/// One node, one rank per node, equal nodes block by block and cyclically, unequal ones.
Topology make_topology(std::mt19937& random) {
  const int nodes = pick(random, std::vector<int>{1, 1, 1, 2, 3, 4, 8, 13, 16});
  const int on_node =
      nodes == 1 ? pick(random, std::vector<int>{2, 2, 4, 8}) : pick(random, std::vector<int>{1, 2, 4, 6});
  const bool is_cyclic = random() % 4 == 0;
  std::vector<int> node_of;
  for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(is_cyclic ? r % nodes : r / on_node);
  if (random() % 4 == 0 && node_of.size() > 3) node_of.resize(node_of.size() - 1);
  const bool is_crowded = random() % 5 == 0;
  return Topology::from_nodes(node_of, {.single_copy = true, .oversubscribed = is_crowded && on_node > 2});
}

Problem make_problem(std::mt19937& random, const Topology& topology) {
  Problem problem;
  problem.operation = static_cast<Operation>(random() % plan::operation_count);
  if (problem.operation == Operation::barrier) return problem;
  problem.bytes = Bytes{64} << random() % 15;
  if (is_reduction(problem.operation)) problem.element = 8;
  if (has_edges(problem.operation))
    return plan::with_ring(problem, topology,
                           std::min(topology.ranks() - 1, pick(random, std::vector<int>{2, 4, 4, 8})));
  return problem;
}

Choice make_choice(std::mt19937& random, Operation operation) {
  std::vector<const algorithms::Algorithm*> known;
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms())
    if (algorithm.operation == operation) known.push_back(&algorithm);
  Choice choice;
  choice.between = pick(random, known)->between;
  choice.within = random() % 2 == 0 ? Within::cells : Within::single_copy;
  choice.radix = pick(random, std::vector<int>{2, 2, 3, 4, 8});
  choice.segment = pick(random, std::vector<Bytes>{0, 8 << 10, 32 << 10, 128 << 10});
  choice.cell = pick(random, std::vector<Bytes>{4 << 10, 16 << 10, 32 << 10, 64 << 10});
  choice.cells = pick(random, std::vector<int>{1, 2, 4});
  choice.groups = pick(random, std::vector<int>{1, 2, 2, 4});
  choice.exchange = static_cast<plan::Exchange>(random() % 4);
  choice.staging = static_cast<plan::Staging>(random() % 3);
  return choice;
}

struct Case {
  std::string what;
  Operation operation;
  double closed;
  double played;

  double error() const { return std::abs(std::log(closed / played)); }
};

Case make_case(const Topology& topology, const Problem& problem, const Choice& choice,
               const cost::Parameters& parameters) {
  const double closed = estimate_choice(topology, problem, choice, parameters);
  const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice), parameters).total;
  const std::string where = std::to_string(topology.ranks()) + " ranks on " + std::to_string(topology.nodes()) +
                            (topology.is_blocked() ? "" : " cyclic") +
                            (topology.capabilities().oversubscribed ? " crowded" : "");
  return {std::string(name(problem.operation)) + " of " + std::to_string(problem.bytes) + " over " + where + " by " +
              to_string(choice),
          problem.operation, closed, played};
}

/// Several choices for each of many random problems, as far as they are valid.
std::vector<std::vector<Case>> make_suite(int problems) {
  std::mt19937 random(1);
  std::vector<std::vector<Case>> suite;
  for (int i = 0; i < problems; ++i) {
    const Topology topology = make_topology(random);
    const Problem problem = make_problem(random, topology);
    std::vector<Case> cases;
    for (int attempt = 0; attempt < 6; ++attempt) {
      const Choice choice = make_choice(random, problem.operation);
      if (!algorithms::why_invalid(topology, problem, choice).empty()) continue;
      cases.push_back(make_case(topology, problem, choice, {}));
    }
    suite.push_back(cases);
  }
  return suite;
}

const std::vector<std::vector<Case>>& suite() {
  static const auto all = make_suite(300);
  return all;
}

double median_error(std::vector<Case> cases) {
  const auto middle = cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2);
  std::nth_element(cases.begin(), middle, cases.end(),
                   [](const Case& a, const Case& b) { return a.error() < b.error(); });
  return middle->error();
}

TEST(ClosedForm, IsWithin15PercentOfThePlayedPlanForHalfOfThePlansOfEveryOperation) {
  std::map<Operation, std::vector<Case>> of;
  for (const auto& cases : suite())
    for (const Case& it : cases) of[it.operation].push_back(it);
  ASSERT_EQ(of.size(), static_cast<std::size_t>(plan::operation_count));
  for (auto& [operation, cases] : of) {
    EXPECT_LE(median_error(cases), std::log(1.15)) << name(operation);
  }
}

TEST(ClosedForm, KnowsWhatTheLongestOfDifferentBlocksDoesToARing) {
  for (const int nodes : {3, 4, 6, 12})
    for (const int on_node : {1, 4}) {
      std::vector<int> node_of;
      for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(r / on_node);
      const Topology topology = Topology::from_nodes(node_of, {});
      Problem problem{Operation::allgather, 1 << 20};
      for (int r = 0; r < nodes * on_node; ++r) problem.counts.push_back(r / on_node % 2 == 0 ? 512 << 10 : 1536 << 10);
      for (const char* text : {"ring", "ring,segment=16K", "ring,segment=64K"})
        for (const char* cells : {",cell=32K,cells=4", ",cell=8K,cells=8"}) {
          const Choice choice = parse_choice(Operation::allgather, std::string(text) + cells);
          const Case it = make_case(topology, problem, choice, {});
          EXPECT_LE(it.error(), std::log(1.25)) << it.what << ": " << it.closed << " us, played " << it.played;
        }
    }
}

TEST(ClosedForm, IsAsNearForEveryAlgorithmByGroupsOfMasters) {
  std::mt19937 random(2);
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms()) {
    if (std::string_view(algorithm.knobs).find("groups=") == std::string_view::npos &&
        std::string_view(algorithm.name()).find("_group_") == std::string_view::npos)
      continue;
    std::vector<Case> cases;
    while (cases.size() < 60) {
      const Topology topology = make_topology(random);
      Problem problem = make_problem(random, topology);
      if (topology.nodes() == 1 || problem.operation != algorithm.operation) continue;
      Choice choice = make_choice(random, problem.operation);
      choice.between = algorithm.between;
      cost::Parameters parameters;
      if (random() % 2 == 0) parameters.flow_rate = parameters.link_rate / 2.5;
      if (!algorithms::why_invalid(topology, problem, choice).empty()) continue;
      cases.push_back(make_case(topology, problem, choice, parameters));
    }
    EXPECT_LE(median_error(cases), std::log(1.25)) << algorithm.name();
  }
}

TEST(ClosedForm, OrdersChoicesAsThePlayedPlansDo) {
  int pairs = 0, alike = 0;
  for (const auto& cases : suite())
    for (const Case& a : cases)
      for (const Case& b : cases) {
        if (a.played * 1.1 >= b.played) continue;
        ++pairs;
        alike += a.closed < b.closed;
      }
  ASSERT_GT(pairs, 500);
  EXPECT_GE(alike, 0.9 * pairs) << alike << " of " << pairs;
}

// Each of 15 neighbours takes every segment out of one rank's memory, and they hold each other up.
TEST(ClosedForm, KnowsThatCopyingSegmentsOnANodeMayTakeLongerThanSendingThem) {
  std::vector<int> node_of;
  for (int r = 0; r < 128; ++r) node_of.push_back(r / 16);
  const Topology topology = Topology::from_nodes(node_of, {.single_copy = true});
  const Problem problem{Operation::broadcast, Bytes{1} << 20};
  for (const char* text : {"chain,segment=16K,within=single_copy", "knomial,segment=64K,within=single_copy"}) {
    const Choice choice = parse_choice(Operation::broadcast, text);
    const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
    EXPECT_NEAR(estimate_choice(topology, problem, choice) / played, 1, 0.25) << text;
  }
}

TEST(ClosedForm, KnowsHowQuicklyFewRoundsGatherWhatATreeHasDealtOut) {
  for (const int nodes : {8, 13, 16})
    for (const Bytes bytes : {Bytes{16} << 10, Bytes{64} << 10})
      for (const char* knobs : {"radix=2,cell=32K,cells=8", "radix=4,cell=32K,cells=8", "radix=4,cell=8K,cells=8"}) {
        std::vector<int> node_of;
        for (int r = 0; r < nodes * 8; ++r) node_of.push_back(r / 8);
        const Topology topology = Topology::from_nodes(node_of, {.single_copy = true});
        const Problem problem{Operation::broadcast, bytes};
        const std::string text = std::string("scatter_allgather,exchange=bruck,") + knobs;
        const Choice choice = parse_choice(Operation::broadcast, text);
        const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
        EXPECT_NEAR(estimate_choice(topology, problem, choice) / played, 1, 0.25)
            << bytes << " over " << nodes << " nodes by " << knobs;
      }
}

// Segments that are folded, exchanged and handed out at the same time, and masters that share their node's link.
TEST(ClosedForm, KnowsWhatOverlapsWhenAllRanksOfANodeExchange) {
  std::vector<int> node_of;
  for (int r = 0; r < 128; ++r) node_of.push_back(r / 8);
  const Topology topology = Topology::from_nodes(node_of, {.single_copy = true});
  for (const Bytes bytes : {Bytes{16} << 10, Bytes{64} << 10, Bytes{1} << 20, Bytes{8} << 20})
    for (const char* knobs : {"radix=4,cell=64K,cells=4", "radix=4,segment=256K,cell=256K,cells=1", "cell=64K,cells=4",
                              "exchange=recursive_doubling,segment=64K,cell=64K,cells=4"}) {
      Problem problem{Operation::allreduce, bytes};
      problem.element = 8;
      const Choice choice = parse_choice(Operation::allreduce, std::string("multi_group,groups=8,") + knobs);
      const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
      EXPECT_NEAR(estimate_choice(topology, problem, choice) / played, 1, 0.15) << bytes << " " << knobs;
    }
}

TEST(ClosedForm, OfAnAllToAllThroughLeadersIsThatOfThePlayedPlan) {
  for (const auto& [nodes, on_node] : {std::pair{16, 8}, {64, 8}, {64, 4}, {128, 2}, {256, 1}})
    for (const Bytes bytes : {Bytes{1}, Bytes{64}})
      for (const char* text : {"flat", "flat,exchange=bruck", "flat,exchange=bruck,radix=4"}) {
        const std::string leaders =
            on_node == 1 ? text : "multi_group,groups=" + std::to_string(on_node) + std::string(text).substr(4);
        std::vector<int> node_of;
        for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(r / on_node);
        const Topology topology = Topology::from_nodes(node_of, {.single_copy = true});
        const Problem problem{Operation::alltoall, bytes};
        const Choice choice = parse_choice(Operation::alltoall, leaders + ",cell=32K,cells=8");
        const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
        EXPECT_NEAR(std::log(estimate_choice(topology, problem, choice) / played), 0, std::log(1.25))
            << bytes << " B, " << nodes << " x " << on_node << " by " << leaders;
      }
}

TEST(ClosedForm, OfAnAllToAllInSlicesIsThatOfThePlayedPlan) {
  for (const auto& [nodes, on_node] : {std::pair{2, 64}, {4, 32}, {8, 64}})
    for (const Bytes bytes : {Bytes{8}, Bytes{64}, Bytes{256}, Bytes{1} << 10})
      for (const char* text : {"multi_group,groups=8,cell=32K,cells=8", "multi_group,groups=64,cell=32K,cells=8"}) {
        std::vector<int> node_of;
        for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(r / on_node);
        const Topology topology = Topology::from_nodes(node_of);
        const Problem problem{Operation::alltoall, bytes};
        const Choice choice = parse_choice(Operation::alltoall, text);
        const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
        EXPECT_NEAR(estimate_choice(topology, problem, choice) / played, 1, 0.15)
            << bytes << " B, " << nodes << " x " << on_node << " by " << text;
      }
}

TEST(ClosedForm, OfABinaryTreeIsThatOfThePlayedPlan) {
  Choice choice{plan::Between::binary};
  choice.segment = 32 << 10;
  for (const int nodes : {2, 3, 4, 7, 8, 13, 16, 33, 64}) {
    std::vector<int> node_of;
    for (int node = 0; node < nodes; ++node) node_of.push_back(node);
    const Topology topology = Topology::from_nodes(node_of);
    for (const Bytes bytes : {Bytes{16} << 10, Bytes{128} << 10, Bytes{1} << 20}) {
      const Problem problem{Operation::broadcast, bytes};
      const double played = cost::estimate_time(algorithms::build_plan(topology, problem, choice)).total;
      EXPECT_NEAR(estimate_choice(topology, problem, choice) / played, 1, 0.15) << nodes << " nodes, " << bytes;
    }
  }
}

/// One rank on each of 16 nodes, all as far apart as `way` says.
Topology make_distant(const topology::Way& way) {
  std::vector<int> node_of;
  for (int node = 0; node < 16; ++node) node_of.push_back(node);
  return Topology::from_nodes(node_of).with_distances(
      topology::Distances::from_classes(std::vector<int>(16), std::vector<topology::Way>{way}));
}

TEST(ClosedForm, KnowsHowFarAndHowFastTheNetworkIs) {
  const Topology near = make_distant({1.5F, 1e-4F}), far = make_distant({6, 1e-4F}), slow = make_distant({1.5F, 1e-3F});
  for (const char* text :
       {"knomial", "knomial,segment=16K", "chain,segment=16K", "binary,segment=16K", "scatter_allgather"}) {
    const Choice choice = parse_choice(Operation::broadcast, text);
    const Problem problem{Operation::broadcast, 256 << 10};
    const double base = estimate_choice(near, problem, choice);
    EXPECT_GT(estimate_choice(far, problem, choice), base + 4) << text;
    EXPECT_GT(estimate_choice(slow, problem, choice), 4 * base) << text;
    for (const Topology* topology : {&near, &far, &slow}) {
      const double played = cost::estimate_time(algorithms::build_plan(*topology, problem, choice)).total;
      EXPECT_NEAR(estimate_choice(*topology, problem, choice) / played, 1, 0.2) << text;
    }
  }
}

TEST(ClosedForm, OfAnExchangeCountsTheTrunksThatAllShare) {
  const Problem problem{Operation::allreduce, 64 << 10, Rank(0), 8};
  const Choice choice = parse_choice(Operation::allreduce, "recursive_doubling");
  const Topology wide = make_distant({1.5F, 1e-4F});
  std::vector<int> ascending, by_turns;
  for (int node = 0; node < 16; ++node) ascending.push_back(node / 8), by_turns.push_back(node % 2);
  const auto time = [&](const std::vector<int>& leaf_of, const Choice& it) {
    const Topology thin = wide.with_distances(wide.distances().with_trunks({leaf_of, {1e-4F, 1e-4F}}));
    return estimate_choice(thin, problem, it) / estimate_choice(wide, problem, it);
  };
  EXPECT_GT(time(by_turns, choice), 4) << "every round crosses them";
  EXPECT_GT(time(ascending, choice), 2) << "rounds with partners 1, 2 and 4 away meet half of the nodes at most";
  EXPECT_LT(time(ascending, choice), time(by_turns, choice));
  const Choice halving = parse_choice(Operation::allreduce, "rabenseifner");
  EXPECT_LT(time(ascending, halving), 2) << "its long messages go to neighbours";
}

TEST(ClosedForm, TakesHardlyLongerAmongManyNodesThanAmongSome) {
  const Topology some = testing::place(64, 16), many = testing::place(4096, 16);
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms()) {
    const Problem problem{algorithm.operation, algorithm.operation == Operation::barrier ? Bytes{0} : Bytes{4096}};
    const Choice choice = parse_choice(algorithm.operation, algorithm.name());
    const auto time_of = [&](const Topology& topology) {
      return testing::shortest_us([&] { estimate_choice(topology, problem, choice); });
    };
    EXPECT_LT(time_of(many), 8 * time_of(some)) << algorithm.name();
  }
}

}  // namespace
}  // namespace espalier::choice
