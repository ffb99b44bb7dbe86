// The built-in choice: valid, fast, the same everywhere, and what the measurements behind it say.

#include "choice/choose.hpp"

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/estimate.hpp"
#include "cost/estimate.hpp"
#include "placements.hpp"
#include "shortest.hpp"

namespace espalier::choice {
namespace {

using plan::Between;
using plan::Operation;
using plan::Problem;
using plan::Within;
using topology::Topology;

constexpr topology::Capabilities able{.single_copy = true};

Problem make_problem(int operation, Bytes bytes) {
  const auto op = static_cast<Operation>(operation);
  return {op, op == Operation::barrier ? 0 : bytes, Rank(0), is_reduction(op) ? Bytes{8} : Bytes{1}};
}

Topology make_blocks(int nodes, int on_node, topology::Capabilities can = able) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * on_node; ++r) node_of.push_back(r / on_node);
  return Topology::from_nodes(node_of, can);
}

/// One node of ranks on neighbouring cores, so many of which share a cache.
Topology make_caches(int ranks, int on_cache) {
  std::vector<machine::RankFacts> facts(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    facts[static_cast<std::size_t>(r)].numa = static_cast<std::int16_t>(2 * r / ranks);
    facts[static_cast<std::size_t>(r)].l3 = static_cast<std::int16_t>(r / on_cache * on_cache);
  }
  return Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0), able, facts);
}

// docs/adr/0038 has the measurements.
TEST(Choose, CopiesOnceFrom16KOnWhereTwoCoresPassLinesSlowly) {
  const topology::Capabilities slow{.single_copy = true, .handover = machine::Handover::slow};
  for (const Operation operation : {Operation::broadcast, Operation::scatter, Operation::gather, Operation::allgather,
                                    Operation::alltoall, Operation::reduce, Operation::allreduce}) {
    const Problem problem = make_problem(static_cast<int>(operation), 16 << 10);
    EXPECT_EQ(choose(make_blocks(1, 2, slow), problem).within, Within::single_copy) << name(operation);
    EXPECT_EQ(choose(make_blocks(1, 2), problem).within, Within::cells) << name(operation);
    EXPECT_EQ(choose(make_blocks(1, 2, slow), make_problem(static_cast<int>(operation), 2 << 10)).within, Within::cells)
        << name(operation);
  }
}

TEST(Choose, WritesPastTheCachesWhatFillsThem) {
  const auto chosen = [](Operation operation, Bytes bytes, int ranks) {
    return choose(make_blocks(1, ranks), make_problem(static_cast<int>(operation), bytes));
  };
  const auto is_streamed = [&](Operation operation, Bytes bytes, int ranks) {
    const plan::Choice choice = chosen(operation, bytes, ranks);
    return choice.within == Within::cells && choice.stores == plan::Stores::streaming;
  };
  EXPECT_TRUE(is_streamed(Operation::alltoall, 256 << 10, 16));
  EXPECT_TRUE(is_streamed(Operation::allgather, 256 << 10, 16));
  EXPECT_TRUE(is_streamed(Operation::allgather, 1 << 20, 8));
  EXPECT_TRUE(is_streamed(Operation::broadcast, 4 << 20, 16));
  EXPECT_FALSE(is_streamed(Operation::broadcast, 256 << 10, 16));
  EXPECT_FALSE(is_streamed(Operation::allgather, 64 << 10, 16));
  EXPECT_EQ(chosen(Operation::alltoall, 64 << 10, 16).within, Within::single_copy) << "not so much more than they hold";
  EXPECT_EQ(chosen(Operation::alltoall, 1 << 20, 8).within, Within::single_copy);
}

TEST(Choose, GoesFromCacheToCacheWhereANodeHasMany) {
  const auto levels = [](const Topology& topology, Operation operation, Bytes bytes) {
    return choose(topology, make_problem(static_cast<int>(operation), bytes)).levels;
  };
  const Topology large = make_caches(128, 4), small = make_caches(8, 4);
  for (const Bytes bytes : {Bytes{1} << 10, Bytes{1} << 20}) {
    EXPECT_EQ(levels(large, Operation::allreduce, bytes), 3);
    EXPECT_EQ(levels(large, Operation::reduce, bytes), 3);
    EXPECT_EQ(levels(small, Operation::allreduce, bytes), 1);
    EXPECT_EQ(levels(make_blocks(1, 128), Operation::allreduce, bytes), 1) << "nobody knows where its ranks sit";
  }
  EXPECT_EQ(levels(make_caches(64, 64), Operation::allreduce, 1 << 10), 3) << "many ranks below one cache";
  EXPECT_EQ(levels(make_caches(16, 16), Operation::allreduce, 1 << 10), 1);
  EXPECT_EQ(levels(large, Operation::broadcast, 1 << 10), 1);
  EXPECT_EQ(levels(large, Operation::broadcast, 1 << 20), 3);
  EXPECT_FALSE(prefers_tiny(large, make_problem(static_cast<int>(Operation::barrier), 0)));
  EXPECT_TRUE(prefers_tiny(small, make_problem(static_cast<int>(Operation::barrier), 0)));
}

TEST(Choose, IsTheFastestValidCandidateOfEveryOperationOnEveryPlacement) {
  for (const auto& placement : testing::placements())
    for (int operation = 0; operation < plan::operation_count; ++operation)
      for (const Bytes bytes : {Bytes{8}, Bytes{3000}, Bytes{64} << 10, Bytes{2} << 20}) {
        const Topology topology = Topology::from_nodes(placement.node_of, able);
        const Problem problem = make_problem(operation, bytes / 8 * 8);
        const plan::Choice choice = choose(topology, problem);
        const std::vector<Estimated> ranked = rank_choices(topology, problem);
        ASSERT_FALSE(ranked.empty());
        EXPECT_EQ(algorithms::why_invalid(topology, problem, choice), "");
        EXPECT_EQ(choice, ranked.front().choice) << placement.name << " " << name(problem.operation) << " " << bytes;
        EXPECT_EQ(choice, decide(topology, problem).choice);
        for (const Estimated& other : ranked)  // of as good ones the better bet
          EXPECT_LE(ranked.front().microseconds, 1.15 * other.microseconds);
      }
}

TEST(Choose, KeepsOperandsInOrderWhereTheyMustBe) {
  const Topology cyclic = Topology::from_nodes(std::vector<int>{0, 1, 0, 1, 0}, able);
  for (const Operation operation : {Operation::reduce, Operation::allreduce, Operation::reduce_scatter}) {
    const Problem problem{operation, 4096, Rank(0), 8, false};
    EXPECT_EQ(choose(cyclic, problem).between, Between::gather_reduce) << name(operation);
  }
}

TEST(Choose, SaysWhyInOneSentenceWithTheNextBest) {
  const Decision decision = decide(make_blocks(8, 1), make_problem(0, 4 << 20));
  EXPECT_EQ(decision.choice.between, Between::chain);
  EXPECT_EQ(decision.reason.find("chain in segments of "), 0u) << decision.reason;
  EXPECT_NE(decision.reason.find(" us estimated; next best "), std::string::npos) << decision.reason;
}

TEST(Choose, SaysWhenJobsLeaveTheResultToNative) {
  const auto reason = [](Bytes bytes) { return decide(make_blocks(1, 4), make_problem(0, bytes)).reason; };
  EXPECT_NE(reason(largest_result + 1).find("an MPI job leaves it to native"), std::string::npos);
  EXPECT_EQ(reason(largest_result).find("native"), std::string::npos);
}

// Two pinned ranks of one server, warm caches; median of 400 calls.
TEST(Choose, OnOneNodeFollowsWhatWasMeasured) {
  const Topology two = make_blocks(1, 2);
  const auto within = [&](Operation operation, Bytes bytes) {
    return choose(two, make_problem(static_cast<int>(operation), bytes)).within;
  };
  for (const Operation rooted : {Operation::broadcast, Operation::scatter, Operation::gather})
    for (const Bytes bytes : {Bytes{2} << 10, Bytes{16} << 10})
      EXPECT_EQ(within(rooted, bytes), Within::cells) << "16K: 1.0 us against 3.0, near cores";
  for (const Operation exchange : {Operation::allgather, Operation::alltoall}) {
    EXPECT_EQ(within(exchange, 4 << 10), Within::cells) << "0.7 us against 3.2: both cores are in the kernel at once";
    EXPECT_EQ(within(exchange, 16 << 10), Within::cells) << "1.9 us against 4.8";
    EXPECT_EQ(within(exchange, 1 << 20), Within::single_copy) << "251 us against 314";
  }
  for (const Operation reduction : {Operation::reduce, Operation::allreduce, Operation::reduce_scatter})
    for (const Bytes bytes : {Bytes{2} << 10, Bytes{16} << 10, Bytes{64} << 10, Bytes{1} << 20})
      EXPECT_EQ(within(reduction, bytes), Within::cells) << "1M: 84 us against 141, 87 against 165, 178 against 349";
  EXPECT_EQ(choose(two, make_problem(static_cast<int>(Operation::allreduce), 16 << 10)).between, Between::gather_reduce)
      << "waiting once instead of twice";
}

// 4 nodes of 64 ranks, 2K each: 44 us against 64.
TEST(Choose, LeavesLinesForCellsWhereManyRanksWithACoreEachWouldReadMuchOfThem) {
  const auto prefers = [](int ranks, Operation operation, Bytes bytes, bool is_crowded = false) {
    const Topology node = make_blocks(1, ranks, {.single_copy = true, .oversubscribed = is_crowded});
    return prefers_tiny(node, make_problem(static_cast<int>(operation), bytes));
  };
  for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce}) {
    EXPECT_TRUE(prefers(2, operation, 2048)) << name(operation);
    EXPECT_TRUE(prefers(8, operation, 256)) << name(operation);
    EXPECT_FALSE(prefers(8, operation, 1024)) << name(operation);
    EXPECT_FALSE(prefers(16, operation, 512)) << name(operation);
    EXPECT_TRUE(prefers(16, operation, 1024, true)) << name(operation) << ": ranks that take turns";
  }
  EXPECT_TRUE(prefers(4, Operation::broadcast, 2048));
  EXPECT_FALSE(prefers(4, Operation::allreduce, 2048));
  EXPECT_TRUE(prefers(16, Operation::scan, 2048));
}

TEST(Choose, HasEachOfManyRanksFoldASliceOfAShortAllreduceForAll) {
  const Topology node = make_blocks(1, 16);
  for (const Bytes bytes : {Bytes{512}, Bytes{1024}, Bytes{2048}})
    EXPECT_NE(choose(node, make_problem(static_cast<int>(Operation::allreduce), bytes)).between, Between::gather_reduce)
        << bytes;
  EXPECT_EQ(choose(make_blocks(1, 4), make_problem(static_cast<int>(Operation::allreduce), 2048)).between,
            Between::gather_reduce);
  Problem ordered = make_problem(static_cast<int>(Operation::allreduce), 1024);
  ordered.is_commutative = ordered.is_symmetric = false;
  EXPECT_EQ(algorithms::why_invalid(node, ordered, choose(node, ordered)), "");
}

TEST(Choose, LetsANodesBlocksFlowToTheRootWhileItStillGathers) {
  const auto gather = static_cast<int>(Operation::gather);
  EXPECT_GT(choose(make_blocks(4, 64), make_problem(gather, 2 << 10)).segment, 0u);
  EXPECT_EQ(choose(make_blocks(4, 64), make_problem(gather, 64)).segment, 0u) << "nothing to overlap with";
  EXPECT_EQ(choose(make_blocks(4, 1), make_problem(gather, 1 << 20)).segment, 0u)
      << "one rank per node gathers nothing";
}

TEST(Choose, TakesSingleCopyWhereRanksOutnumberCoresOnlyToDealOutAndCollectLongBlocks) {
  const Topology crowded = make_blocks(1, 8, {.single_copy = true, .oversubscribed = true});
  for (int operation = 0; operation < plan::operation_count; ++operation) {
    const auto it = static_cast<Operation>(operation);
    const bool is_dealt = it == Operation::scatter || it == Operation::gather;
    EXPECT_EQ(choose(crowded, make_problem(operation, 1 << 20)).within, is_dealt ? Within::single_copy : Within::cells);
    EXPECT_EQ(choose(crowded, make_problem(operation, 16 << 10)).within, Within::cells);
  }
}

TEST(Choose, WhereRanksOutnumberCoresTheyTakeTurnsSeldomThroughCellsAsLongAsTheWindow) {
  const auto cell = [](const Topology& topology, Operation operation, Bytes bytes) {
    const plan::Choice choice = choose(topology, make_problem(static_cast<int>(operation), bytes));
    return std::pair(choice.cell, choice.cells);
  };
  const Topology crowded = make_blocks(1, 16, {.single_copy = true, .oversubscribed = true});
  const Bytes window = crowded.capabilities().window_bytes;
  for (const Operation operation : {Operation::reduce_scatter, Operation::allreduce, Operation::alltoall})
    EXPECT_EQ(cell(crowded, operation, 1 << 20), std::pair(window, 1)) << name(operation);
  const Topology few = make_blocks(1, 4, {.single_copy = true, .oversubscribed = true});
  EXPECT_LT(cell(few, Operation::reduce_scatter, 1 << 20).first, window) << "two ranks on a core often wait for both";
}

TEST(Choose, WritesResultsPastTheCachesWhereTheBuffersOfRanksThatShareCoresFillThem) {
  const auto stores = [](const Topology& topology, Operation operation, Bytes bytes) {
    return choose(topology, make_problem(static_cast<int>(operation), bytes)).stores;
  };
  const Topology crowded = make_blocks(1, 16, {.single_copy = true, .oversubscribed = true});
  for (const Operation operation :
       {Operation::broadcast, Operation::allgather, Operation::alltoall, Operation::allreduce}) {
    EXPECT_EQ(stores(crowded, operation, 4 << 20), plan::Stores::streaming) << name(operation);
    EXPECT_EQ(stores(crowded, operation, 16 << 10), plan::Stores::cached) << name(operation);
    EXPECT_EQ(stores(make_blocks(1, 2), operation, 16 << 20), plan::Stores::cached) << name(operation);
  }
  EXPECT_EQ(stores(crowded, Operation::reduce_scatter, 4 << 20), plan::Stores::cached) << "folds, and copies nothing";
}

TEST(Choose, BetweenNodesWantsFewRoundsForShortAndNoByteTwiceForLongMessages) {
  const Topology nodes = make_blocks(16, 1);
  const auto between = [&](Operation operation, Bytes bytes) {
    return choose(nodes, make_problem(static_cast<int>(operation), bytes)).between;
  };
  EXPECT_EQ(between(Operation::broadcast, 64), Between::knomial);
  EXPECT_EQ(between(Operation::broadcast, 16 << 20), Between::chain);
  EXPECT_NE(between(Operation::allgather, 64), Between::ring);
  EXPECT_EQ(between(Operation::allreduce, 8), Between::recursive_doubling);
  EXPECT_NE(between(Operation::allreduce, 1 << 20), Between::recursive_doubling);
}

TEST(Choose, TakesARingForALongAllgatherThatDoublingBringsNoFurther) {
  const auto between = [](int nodes, Bytes bytes) {
    const Problem problem = make_problem(static_cast<int>(Operation::allgather), bytes);
    const Topology topology = make_blocks(nodes, 1);
    const std::vector<Estimated> ranked = rank_choices(topology, problem);
    EXPECT_EQ(ranked.front().choice.between, choose(topology, problem).between);
    return ranked.front().choice.between;
  };
  EXPECT_EQ(between(4, 1 << 20), Between::ring) << "0.98 of MPICH's own, doubling 0.93";
  EXPECT_EQ(between(4, 4 << 10), Between::gather_based) << "one round";
}

TEST(Choose, LetsRanksThatAreDealtToNodesOneByOneExchangeTheirOwnLongBlocks) {
  const Problem problem = make_problem(static_cast<int>(Operation::allgather), 64 << 10);
  for (const int nodes : {2, 3, 7, 16}) {
    const auto played = [&](testing::Mapping mapping) {
      const Topology topology = testing::place(nodes, 8, mapping);
      return cost::estimate_time(algorithms::build_plan(topology, problem, choose(topology, problem)), {}).total;
    };
    EXPECT_LT(played(testing::Mapping::cyclic), 1.2 * played(testing::Mapping::blocks))
        << nodes << ": nobody puts other ranks' blocks in order";
  }
  const Topology topology = testing::place(16, 8, testing::Mapping::cyclic);
  EXPECT_EQ(choose(topology, problem).groups, 8);
  EXPECT_NE(choose(topology, make_problem(static_cast<int>(Operation::allgather), 64)).between,
            Between::multi_group_lean)
      << "so many messages, and little to put in order";
}

TEST(Choose, LetsHalfOfALargeNodesRanksCombineAReduceScatter) {
  const Topology topology = testing::place(8, 64);
  const Problem problem = make_problem(static_cast<int>(Operation::reduce_scatter), 1 << 10);
  plan::Choice choice = choose(topology, problem);
  EXPECT_EQ(choice.between, Between::multi_group);
  EXPECT_EQ(choice.groups, 32);
  const auto played = [&] { return cost::estimate_time(algorithms::build_plan(topology, problem, choice), {}).total; };
  const double chosen = played();
  choice.groups = 8;
  EXPECT_LT(chosen, 0.75 * played());
}

TEST(Choose, LetsAllRanksOfALargeNodeFoldWhatTheirLeaderPassesOn) {
  const Topology topology = testing::place(2, 64);
  const auto played = [&](Operation operation) {
    const Problem problem = make_problem(static_cast<int>(operation), 256 << 10);
    return cost::estimate_time(algorithms::build_plan(topology, problem, choose(topology, problem)), {}).total;
  };
  EXPECT_LT(played(Operation::reduce), 2 * played(Operation::allreduce));
}

TEST(Choose, CutsALongAllgatherOfDifferentBlocksIntoSegments) {
  Problem problem = make_problem(static_cast<int>(Operation::allgather), 1 << 20);
  EXPECT_EQ(choose(make_blocks(4, 1), problem).segment, 0) << "equal blocks keep in step";
  problem.counts = {512 << 10, 1536 << 10, 512 << 10, 1536 << 10};
  const plan::Choice choice = choose(make_blocks(4, 1), problem);
  EXPECT_EQ(choice.between, Between::ring);
  EXPECT_GT(choice.segment, 0) << "whole, all would wait for the longest in every round: 0.75 of MPICH's own";
}

TEST(Choose, LetsTheLongMessagesOfFewNodesMeetNoOthers) {
  const auto chosen = [](Operation operation, int nodes, int on_node, Bytes bytes) {
    return choose(make_blocks(nodes, on_node), make_problem(static_cast<int>(operation), bytes));
  };
  EXPECT_EQ(chosen(Operation::alltoall, 4, 1, 64 << 10).connections, 1) << "8.5 ms, all at once 10.9";
  EXPECT_EQ(chosen(Operation::alltoall, 4, 1, 4 << 10).connections, 0) << "latencies count";
  EXPECT_EQ(chosen(Operation::alltoall, 4, 4, 64 << 10).connections, 0) << "neighbours' messages meet in any case";
  EXPECT_EQ(chosen(Operation::reduce_scatter, 4, 1, 64 << 10).connections, 1) << "8.5 ms, all at once 10.7";
  EXPECT_EQ(chosen(Operation::reduce_scatter, 3, 1, 256 << 10).connections, 1) << "three nodes can not halve";
}

TEST(Choose, HalvesTheSumsOfDifferentBlocks) {
  Problem problem = make_problem(static_cast<int>(Operation::reduce_scatter), 64 << 10);
  problem.counts = {32 << 10, 96 << 10, 32 << 10, 96 << 10};
  EXPECT_EQ(choose(make_blocks(4, 1), problem).between, Between::rabenseifner)
      << "long parts are combined on their way";
}

// 128 and 512 ranks, simulated on a fat tree, three levels 2 : 1 and a dragonfly; dealt out and gathered by Bruck's
// exchange they take 34, 45 and 35 us, and 375, 618 and 522.
TEST(Choose, SendsAMiddlingMessageDownABinaryTreeInSegments) {
  EXPECT_EQ(choose(make_blocks(16, 8), make_problem(0, 64 << 10)).between, Between::binary) << "33, 35 and 35 us";
  EXPECT_EQ(choose(make_blocks(64, 8), make_problem(0, 1 << 20)).between, Between::binary) << "269, 396 and 378 us";
  EXPECT_EQ(choose(make_blocks(512, 8), make_problem(0, 64 << 10)).between, Between::binary) << "62 us, 59 to 158";
  EXPECT_NE(choose(make_blocks(4, 8), make_problem(0, 64 << 10)).between, Between::binary) << "few nodes";
  const plan::Choice alone = choose(make_blocks(16, 1), make_problem(0, 64 << 10));
  EXPECT_EQ(alone.between, Between::scatter_allgather) << "30 to 43 us against 41 to 45: nothing keeps segments back";
  EXPECT_EQ(alone.exchange, plan::Exchange::bruck);
}

// Relays send equally far at once, which a dragonfly's few far cables do not carry: 407 us, on a fat tree 199.
TEST(Choose, RelaysAnAllToAllBetweenUndescribedNodesOnlyWhereThatGainsHalf) {
  const auto all_to_all = [](Bytes bytes) { return make_problem(static_cast<int>(Operation::alltoall), bytes); };
  EXPECT_NE(choose(make_blocks(512, 8), all_to_all(4)).exchange, plan::Exchange::bruck) << "222 us";
  EXPECT_EQ(choose(make_blocks(256, 1), all_to_all(8)).exchange, plan::Exchange::bruck) << "70 us against 266";
}

/// The same nodes on switches of eight whose cables never fill, or where nothing is known of them.
Topology make_wide(int nodes, int on_node) {
  std::vector<int> leaf_of;
  for (int node = 0; node < nodes; ++node) leaf_of.push_back(node / 8);
  const auto known = topology::Distances::from_classes(leaf_of, [&] {
    const auto leaves = static_cast<std::size_t>(leaf_of.back() + 1);
    std::vector<topology::Way> ways(leaves * leaves, {2.04F, 1e-4F});
    for (std::size_t leaf = 0; leaf < leaves; ++leaf) ways[leaf * leaves + leaf].latency = 1.57F;
    return ways;
  }());
  const std::vector<float> trunks(static_cast<std::size_t>(leaf_of.back() + 1), 1e-4F / 8);
  return make_blocks(nodes, on_node).with_distances(known.with_trunks({leaf_of, trunks}));
}

// 512 ranks, 1K, simulated: doubling 98, 227 and 403 us, far first 121, 140 and 155, a ring 125, 147 and 144; 4K: a
// ring 274, 319 and 274, far first 429, 498 and 572.
TEST(Choose, SendsMuchToFarNodesOnlyWhereItKnowsThatTheCablesAreWide) {
  const Problem problem = make_problem(static_cast<int>(Operation::allgather), 1 << 10);
  const Problem longer = make_problem(static_cast<int>(Operation::allgather), 4 << 10);
  const auto rates_only = topology::Distances::from_rates(std::vector<std::uint64_t>(64));
  for (const Topology& unknown : {make_blocks(64, 8), make_blocks(64, 8).with_distances(rates_only)}) {
    EXPECT_EQ(choose(unknown, problem).between, Between::recursive_doubling);
    EXPECT_EQ(choose(unknown, problem).order, plan::Order::depth) << "far first";
    EXPECT_EQ(choose(unknown, longer).between, Between::ring);
  }
  EXPECT_EQ(choose(make_wide(64, 8), problem).between, Between::recursive_doubling);
  EXPECT_EQ(choose(make_wide(64, 8), problem).order, plan::Order::auto_);
  EXPECT_EQ(choose(make_blocks(8, 1), problem).between, choose(make_wide(8, 1), problem).between) << "one switch";
}

// What a switch has to all others does not tell what two groups of switches have between them.
TEST(Choose, SendsLittleBetweenGroupsOfSwitchesThatItKnowsOf) {
  std::vector<int> leaf_of;
  for (int node = 0; node < 128; ++node) leaf_of.push_back(node / 4);
  std::vector<topology::Way> ways(32 * 32, {2.45F, 1e-4F});
  for (std::size_t a = 0; a < 32; ++a)
    for (std::size_t b = 0; b < 32; ++b)
      if (a / 8 == b / 8) ways[a * 32 + b].latency = a == b ? 1.57F : 2.04F;
  const auto known = topology::Distances::from_classes(leaf_of, ways).with_trunks({leaf_of, std::vector(32, 1e-5F)});
  const plan::Choice choice =
      choose(make_blocks(128, 8).with_distances(known), make_problem(static_cast<int>(Operation::allgather), 1 << 10));
  EXPECT_EQ(choice.between, Between::recursive_doubling);
  EXPECT_EQ(choice.order, plan::Order::depth) << "far first";
}

// 128 ranks, simulated: 13.5 us on every network, doubling 14.2 to 16.5.
TEST(Choose, GathersVeryShortBlocksToMastersOfManyNodes) {
  const auto allgather = static_cast<int>(Operation::allgather);
  EXPECT_EQ(choose(make_blocks(16, 8), make_problem(allgather, 64)).between, Between::gather_based);
  const Topology crowded = make_blocks(16, 8, {.single_copy = true, .oversubscribed = true});
  EXPECT_NE(choose(crowded, make_problem(allgather, 64)).between, Between::gather_based) << "masters want a core each";
}

TEST(Choose, KeepsAllRanksOfANodeBusyWithALongAllreduceBetweenNodes) {
  for (const Bytes bytes : {Bytes{64} << 10, Bytes{1} << 20}) {
    Problem problem = make_problem(static_cast<int>(Operation::allreduce), bytes);
    const plan::Choice choice = choose(make_blocks(16, 8), problem);
    EXPECT_EQ(choice.between, Between::multi_group);
    EXPECT_EQ(choice.groups, 8);
    EXPECT_EQ(choice.segment > 0, bytes > Bytes{256} << 10);
    problem.is_commutative = false;
    EXPECT_EQ(choose(make_blocks(16, 8), problem).between, Between::multi_group);
    EXPECT_NE(choose(make_blocks(16, 1), problem).between, Between::multi_group) << "nobody to share the work with";
    const Topology crowded = make_blocks(16, 8, {.single_copy = true, .oversubscribed = true});
    EXPECT_NE(choose(crowded, problem).between, Between::multi_group) << "ranks that exchange want a core each";
  }
}

// On a link as slow as this a 64K message is long: the tree's second hop costs as much again, a chain's does not.
TEST(Choose, OnASlowNetworkPipelinesSooner) {
  cost::Parameters slow;
  slow.latency = 60;
  slow.overhead = 8;
  slow.link_rate = 25;
  const Topology nodes = make_blocks(4, 1);
  EXPECT_EQ(choose(nodes, make_problem(0, 64 << 10), slow).between, Between::chain);
  EXPECT_EQ(choose(nodes, make_problem(5, 1 << 20), slow).between, Between::chain)
      << "a tree's inner leaders receive the vector once per child, and halving moves it twice";
}

// 4 nodes, 16 KB by MPICH on 200 Mbit/s: a root that sends to three took 1.3 times as long as a binomial tree.
TEST(Choose, HedgesBetweenFewNodesOfWhoseNetworkNotEvenARateIsKnown) {
  const auto told = topology::Distances::from_rates(std::vector<std::uint64_t>(4, 100'000));
  for (const int on_node : {1, 4})
    for (const Operation operation : {Operation::broadcast, Operation::reduce}) {
      const Problem problem = make_problem(static_cast<int>(operation), 16 << 10);
      const Topology unknown = make_blocks(4, on_node);
      const plan::Choice fast = choose(unknown.with_distances(told), problem), hedged = choose(unknown, problem);
      EXPECT_EQ(fast.radix, 4) << "one round";
      EXPECT_EQ(hedged.radix, 2) << "and two, but two thirds of the bytes";
      const auto cost = [&](const plan::Choice& it) { return estimate_choice(unknown, problem, it, {}); };
      EXPECT_LE(cost(hedged), 1.15 * cost(fast));
    }
  cost::Parameters measured;
  measured.link_rate = 9000;
  const Problem problem = make_problem(0, 16 << 10);
  EXPECT_EQ(choose(make_blocks(4, 1), problem, measured).radix, 4) << "a table's curves have told";
}

// The emulated cluster: links of 200 Mbit/s of which one connection gets 0.55, two cores for each node's four ranks.
TEST(Choose, WantsGroupsWhereOneConnectionDoesNotFillTheLink) {
  cost::Parameters slow;
  slow.latency = 60;
  slow.link_rate = 25;
  const Topology nodes = make_blocks(4, 4, {.single_copy = true, .oversubscribed = true});
  const Problem problem = make_problem(static_cast<int>(Operation::allgather), 64 << 10);
  EXPECT_EQ(choose(nodes, problem, slow).between, Between::recursive_doubling) << "one connection fills the link";
  slow.flow_rate = 0.55 * slow.link_rate;
  const plan::Choice choice = choose(nodes, problem, slow);
  EXPECT_TRUE(choice.between == Between::multi_group_lean || choice.between == Between::gather_based)
      << to_string(choice);
  EXPECT_GT(choice.groups * (choice.exchange == plan::Exchange::direct ? 3 : 1), 1) << to_string(choice);
}

TEST(Choose, LetsAllRanksOfLargeNodesFoldLongSlicesOfAnAllreduce) {
  const Topology nodes = make_blocks(2, 64);
  const Problem problem = make_problem(static_cast<int>(Operation::allreduce), 32 << 10);
  const double time = cost::estimate_time(algorithms::build_plan(nodes, problem, choose(nodes, problem))).total;
  EXPECT_LT(time, 50) << "69 in short pieces, or by four groups";
}

TEST(Choose, TakesFarFromAsManyTimesAsLongAsThereAreNodes) {
  const Topology some = make_blocks(64, 16), many = make_blocks(4096, 16);
  for (int operation = 0; operation < plan::operation_count; ++operation) {
    const Problem problem = make_problem(operation, 64 << 10);
    const auto time_of = [&](const Topology& topology) {
      return testing::shortest_us([&] { choose(topology, problem); });
    };
    const int most = problem.operation == Operation::alltoall ? 6 : 32;
    EXPECT_LT(time_of(many), most * time_of(some)) << name(problem.operation) << ": of 64 times as many nodes";
  }
}

}  // namespace
}  // namespace espalier::choice
