// Exchanges whose form depends on there being many nodes: in batches, and far partners first.

#include <gtest/gtest.h>

#include <map>

#include "algorithms/alltoall/layout.hpp"
#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "cost/estimate.hpp"
#include "placements.hpp"
#include "verify/plans/specimen.hpp"

namespace espalier::algorithms {
namespace {

using plan::Choice;
using plan::Op;
using plan::Operation;
using plan::Plan;
using plan::Problem;
using plan::Step;
using testing::Mapping;
using testing::place;
using topology::Topology;

void expect_proved(const Topology& topology, const Problem& problem, const std::string& text) {
  SCOPED_TRACE(text + " on " + std::to_string(topology.ranks()) + " ranks, " + std::to_string(problem.bytes) + " B");
  const Choice choice = choice::parse_choice(problem.operation, text);
  ASSERT_EQ(why_invalid(topology, problem, choice), "");
  verify::Outcome outcome;
  verify::prove({topology, problem, choice}, outcome);
  for (const auto& failure : outcome.failures)
    ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
}

/// Blocks of 0 to 28 bytes.
std::vector<Bytes> uneven_counts(int ranks) {
  std::vector<Bytes> counts(static_cast<std::size_t>(ranks * ranks));
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i * 5 % 8 * 4;
  return counts;
}

int count_batches(const Topology& topology, const Problem& problem, const Choice& choice) {
  return derive_form(topology, problem, choice).batches;
}

/// Short blocks, equal and not, where some number of batches makes them fit the choice's cells.
void expect_proved_if_it_fits(const Topology& topology, const char* text) {
  Problem problem{Operation::alltoall, 16};
  const Choice choice = choice::parse_choice(problem.operation, text);
  if (count_batches(topology, problem, choice) > 0) expect_proved(topology, problem, text);
  problem.counts = uneven_counts(topology.ranks());
  if (count_batches(topology, problem, choice) > 0) expect_proved(topology, problem, text);
}

TEST(AlltoallInBatches, IsRightWithHoweverManyBatches) {
  for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
    for (const auto& [nodes, on_node] : {std::pair{20, 2}, {26, 3}, {33, 1}})
      for (const char* text : {"flat,cell=1K,cells=1", "flat,cell=2K,cells=1", "multi_group,groups=2,cell=4K,cells=1",
                               "multi_group,groups=3,cell=1K,cells=2", "flat,exchange=bruck,cell=1K,cells=1",
                               "multi_group,groups=2,exchange=bruck,radix=3,cell=1K,cells=2"})
        expect_proved_if_it_fits(place(nodes, on_node, mapping), text);
}

TEST(AlltoallByRelays, IsRightForEveryNumberOfNodesAndEveryRadix) {
  for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
    for (const auto& [nodes, on_node] : {std::pair{2, 2}, {3, 2}, {5, 3}, {8, 2}, {11, 4}, {16, 1}, {27, 2}, {33, 1}})
      for (const char* text :
           {"flat,exchange=bruck", "flat,exchange=bruck,radix=3", "multi_group,groups=2,exchange=bruck,radix=4",
            "multi_group,groups=4,exchange=bruck", "multi_group,groups=3,exchange=bruck,radix=64"}) {
        const Topology topology = place(nodes, on_node, mapping);
        Problem problem{Operation::alltoall, 16};
        expect_proved(topology, problem, text);
        problem.counts = uneven_counts(topology.ranks());
        expect_proved(topology, problem, text);
      }
}

TEST(AlltoallByRelays, SendsFewMessages) {
  const auto sends = [](const char* text) {
    const Problem problem{Operation::alltoall, 4};
    const Plan plan = build_plan(place(64, 4), problem, choice::parse_choice(problem.operation, text));
    int sends = 0;
    for (std::size_t r = 0; r < 4; ++r)
      for (const Step& step : plan.programs[r].steps) sends += step.op() == Op::send;
    return sends;
  };
  EXPECT_EQ(sends("flat"), 63);
  EXPECT_EQ(sends("flat,exchange=bruck"), 6);
  EXPECT_EQ(sends("flat,exchange=bruck,radix=4"), 3 * 3);
  EXPECT_EQ(sends("flat,exchange=bruck,radix=8"), 2 * 7);
  EXPECT_EQ(sends("multi_group,groups=4,exchange=bruck,radix=4"), 29) << "leaders share digits";
}

TEST(AlltoallByRelays, CopiesAParcelOnceForEachMessageAtMost) {
  const auto copies = [](int nodes, const char* text) {
    const Problem problem{Operation::alltoall, 4};
    const Plan plan = build_plan(place(nodes, 1), problem, choice::parse_choice(problem.operation, text));
    int copies = 0;
    for (const Step& step : plan.programs[0].steps) copies += step.op() == Op::copy || step.op() == Op::put;
    return copies;
  };
  const int straight = copies(64, "flat");
  EXPECT_LE(copies(64, "flat,exchange=bruck"), straight + 6 * 32);
  EXPECT_LE(copies(64, "flat,exchange=bruck,radix=8"), straight + 56 + 8) << "of 63 parcels 7 have arrived";
}

TEST(AlltoallByRelays, IsChosenForShortBlocksOfManyNodesWithOneRankEach) {
  const auto exchange = [](int nodes, int on_node, Bytes bytes) {
    return choice::choose(place(nodes, on_node), {Operation::alltoall, bytes}).exchange;
  };
  EXPECT_EQ(exchange(256, 1, 8), plan::Exchange::bruck);
  EXPECT_EQ(exchange(64, 2, 8), plan::Exchange::bruck);
  EXPECT_EQ(exchange(64, 1, 64 << 10), plan::Exchange::direct);
  EXPECT_EQ(exchange(64, 8, 64), plan::Exchange::direct) << "leaders' work is in collecting parcels, not in sending";
}

TEST(AlltoallByTarget, TakesOneStretchOfEveryMessage) {
  const auto gets = [](const Topology& topology, const char* text, Bytes bytes = 256) {
    const Problem problem{Operation::alltoall, bytes};
    const Plan plan = build_plan(topology, problem, choice::parse_choice(problem.operation, text));
    int gets = 0;
    for (const Step& step : plan.programs[1].steps) gets += step.op() == Op::get;
    return gets;
  };
  EXPECT_EQ(gets(place(20, 4), "multi_group,groups=2,cell=64K,cells=4"), 3 + 19) << "neighbours and other nodes";
  EXPECT_EQ(gets(place(20, 4), "flat,cell=64K,cells=4"), 3 + 4 * 19) << "one leader does not turn blocks for four";
  EXPECT_EQ(gets(place(8, 4), "multi_group,groups=2,cell=64K,cells=4"), 3 + 4 * 7) << "few nodes";
  EXPECT_EQ(gets(place(64, 4), "multi_group,groups=4,cell=64K,cells=4", 64), 3 + 3 * 2 + 8)
      << "of eight bundles of eight nodes two are the own ones, and neighbours' blocks for them fetched at once";
}

TEST(AlltoallInBundles, IsRightWhereverTheCircleOfNodesEnds) {
  for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
    for (const auto& [nodes, on_node] : {std::pair{20, 2}, {34, 2}, {37, 4}, {50, 3}})
      for (const char* text :
           {"multi_group,groups=2,cell=64K,cells=4", "multi_group,groups=4,cell=64K,cells=4",
            "multi_group,groups=2,exchange=bruck,radix=3,cell=64K,cells=4", "multi_group,groups=2,cell=4K,cells=1"}) {
        const Topology topology = place(nodes, on_node, mapping);
        const Problem problem{Operation::alltoall, 16};
        const Choice choice = choice::parse_choice(problem.operation, text);
        if (count_batches(topology, problem, choice) > 0) expect_proved(topology, problem, text);
      }
}

// If everyone took messages in one order, each leader would say that one is there only when it has taken those before.
TEST(AlltoallByLeaders, NeverKeepsNeighboursWaitingForWhatHasCome) {
  const Topology topology = place(64, 8);
  const Problem problem{Operation::alltoall, 4};
  const Choice choice = choice::parse_choice(problem.operation, "multi_group,groups=8,cell=64K,cells=4");
  const double played = cost::estimate_time(build_plan(topology, problem, choice)).total;
  EXPECT_LT(played, 50) << "88 in one order";
}

TEST(AlltoallInBatches, HasAsManyAsTheCellsNeed) {
  const auto batches = [](const char* text, Bytes bytes) {
    return count_batches(place(33, 4), {Operation::alltoall, bytes}, choice::parse_choice(Operation::alltoall, text));
  };
  EXPECT_EQ(batches("flat,cell=64K,cells=1", 64), 1);
  EXPECT_EQ(batches("flat,cell=32K,cells=1", 64), 4) << "two at once";
  EXPECT_EQ(batches("flat,cell=8K,cells=1", 64), 16) << "each two ranks of eight nodes";
  EXPECT_EQ(batches("multi_group,groups=4,cell=32K,cells=1", 64), 1) << "four leaders' cells hold what comes";
}

TEST(AlltoallInSlices, IsRightWhereverRanksSit) {
  for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
    for (const auto& [nodes, on_node] : {std::pair{2, 9}, {3, 7}, {4, 2}, {5, 6}, {10, 3}})
      for (const char* text : {"multi_group,groups=7,cell=64K,cells=4", "multi_group,groups=64,cell=64K,cells=4",
                               "multi_group,groups=7,cell=1K,cells=2", "multi_group,groups=3,cell=512,cells=2",
                               "flat,cell=1K,cells=1", "flat,cell=512,cells=1"})
        expect_proved_if_it_fits(place(nodes, on_node, mapping), text);
}

// 1 rank, 9 ranks, 4 ranks: what is for the single rank comes in one slice, the others are empty.
TEST(AlltoallInSlices, SendsNothingWhereASliceHasNoRank) {
  const Topology topology = Topology::from_nodes(std::vector{0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2});
  const Problem problem{Operation::alltoall, 16};
  const char* text = "multi_group,groups=16,cell=64K,cells=4";
  const Choice choice = choice::parse_choice(problem.operation, text);
  ASSERT_EQ(derive_form(topology, problem, choice).slices, 8);
  expect_proved(topology, problem, text);
  std::map<std::pair<int, int>, int> sends;  // by node and node
  const Plan plan = build_plan(topology, problem, choice);
  for (int r = 0; r < topology.ranks(); ++r)
    for (const Step& step : plan.programs[static_cast<std::size_t>(r)].steps)
      if (step.op() == Op::send) {
        ++sends[{topology.node_of(Rank(r)).value, topology.node_of(step.peer()).value}];
        EXPECT_GT(step.bytes(), 0u);
      }
  EXPECT_EQ((sends[{1, 0}]), 1);
  EXPECT_EQ((sends[{0, 1}]), 8);
  EXPECT_EQ((sends[{1, 2}]), 4);
}

TEST(AlltoallInSlices, HasAsManyAsLeadersAndCellsNeed) {
  const auto form = [](int nodes, int on_node, const char* text, Bytes bytes) {
    const AlltoallForm form = derive_form(place(nodes, on_node), {Operation::alltoall, bytes},
                                          choice::parse_choice(Operation::alltoall, text));
    return std::pair{form.slices, form.batches};
  };
  const char* all = "multi_group,groups=64,cell=64K,cells=4";
  EXPECT_EQ(form(16, 64, all, 8), std::pair(4, 1)) << "60 parcels for 64 leaders";
  EXPECT_EQ(form(16, 64, all, 64), std::pair(4, 1));
  EXPECT_EQ(form(16, 64, all, 256).first, 16) << "of four ranks each: 64 KB";
  EXPECT_EQ(form(16, 64, all, 1 << 10).first, 64);
  EXPECT_EQ(form(16, 64, all, 4 << 10).second, 0) << "what 64 ranks have for one is more than half of the cells";
  EXPECT_EQ(form(16, 64, "multi_group,groups=8,cell=64K,cells=4", 8), std::pair(1, 1));
  EXPECT_EQ(form(64, 8, "multi_group,groups=8,cell=64K,cells=4", 64), std::pair(1, 1));
  EXPECT_EQ(form(16, 64, "multi_group,groups=64,exchange=bruck,cell=64K,cells=4", 64).second, 0)
      << "relays pass on whole parcels";
}

TEST(AlltoallInSlices, IsChosenOnNodesOfManyRanks) {
  for (const auto& [nodes, on_node] : {std::pair{2, 64}, {16, 64}, {64, 32}, {8, 128}})
    for (const Bytes bytes : {8, 64, 256}) {
      const Choice choice = choice::choose(place(nodes, on_node), {Operation::alltoall, bytes});
      EXPECT_EQ(choice.between, plan::Between::multi_group) << nodes << " x " << on_node << ", " << bytes;
    }
  const Topology large = place(16, 64);
  const Problem problem{Operation::alltoall, 64};
  const double time = cost::estimate_time(build_plan(large, problem, choice::choose(large, problem))).total;
  EXPECT_LT(time, 600) << "12290 where every pair sends, 393 on the wire";
}

TEST(AlltoallInBatches, SendsNoMoreMessages) {
  const auto sends = [](const char* text) {
    const Problem problem{Operation::alltoall, 64};
    const Plan plan = build_plan(place(33, 4), problem, choice::parse_choice(problem.operation, text));
    std::map<int, int> sends;
    for (std::size_t r = 0; r < plan.programs.size(); ++r)
      for (const Step& step : plan.programs[r].steps) sends[static_cast<int>(r / 4)] += step.op() == Op::send;
    return sends;
  };
  EXPECT_EQ(sends("flat,cell=32K,cells=1"), sends("flat,cell=64K,cells=1"));
}

TEST(AlltoallInBatches, IsChosenWhereShortBlocksFillTheCellsOfManyNodes) {
  EXPECT_EQ(choice::choose(place(512, 8), {Operation::alltoall, 64}).between, plan::Between::multi_group);
}

TEST(FarFirst, IsRightForEveryNumberOfNodes) {
  for (const Mapping mapping : {Mapping::blocks, Mapping::cyclic, Mapping::uneven})
    for (const int nodes : {2, 3, 4, 7, 16, 21, 32})
      for (const char* text :
           {"recursive_doubling,order=depth,cell=128,cells=2", "recursive_doubling,order=depth,within=single_copy"}) {
        const Topology topology = place(nodes, 3, mapping);
        Problem problem{Operation::allgather, 40};
        expect_proved(topology, problem, text);
        for (int r = 0; r < topology.ranks(); ++r) problem.counts.push_back(static_cast<Bytes>(r * 7 % 5 * 30));
        expect_proved(topology, problem, text);
      }
}

TEST(FarFirst, SendsLessTheFartherItGoes) {
  const Plan plan = build_plan(place(64, 2), {Operation::allgather, 100},
                               choice::parse_choice(Operation::allgather, "recursive_doubling,order=depth"));
  std::map<int, Bytes> sent;  // by distance
  for (const Step& step : plan.programs[0].steps)
    if (step.op() == Op::send) sent[plan.topology.node_of(step.peer()).value] += step.bytes();
  EXPECT_EQ(sent, (std::map<int, Bytes>{{32, 200}, {16, 400}, {8, 800}, {4, 1600}, {2, 3200}, {1, 6400}}));
}

TEST(FarFirst, IsChosenForManyBytesWhereNothingIsKnownOfTheNetwork) {
  const Choice choice = choice::choose(place(512, 8), {Operation::allgather, 256});
  EXPECT_EQ(plan::to_string(choice).find("recursive_doubling,order=depth"), 0u) << plan::to_string(choice);
}

}  // namespace
}  // namespace espalier::algorithms
