// Two levels inside a node: which ranks are near each other, and that what crosses between them crosses once.

#include "smp/domains.hpp"

#include <gtest/gtest.h>

#include <map>
#include <type_traits>

#include "smp/move/spread.hpp"
#include "smp/reduce/domains.hpp"
#include "smp/reduce/node.hpp"

namespace espalier::smp {
namespace {

using machine::RankFacts;
using plan::Builder;
using plan::Op;
using plan::Step;
using topology::Topology;

/// One node whose ranks sit on these NUMA nodes and last-level caches.
Topology node_with(const std::vector<int>& numa, const std::vector<int>& l3 = {}) {
  std::vector<RankFacts> facts(numa.size());
  for (std::size_t r = 0; r < numa.size(); ++r) {
    facts[r].numa = static_cast<std::int16_t>(numa[r]);
    facts[r].l3 = static_cast<std::int16_t>(l3.empty() ? 0 : l3[r]);
  }
  return Topology::from_nodes(std::vector<int>(numa.size(), 0), {.single_copy = true}, facts);
}

std::vector<int> domains_of(const Topology& topology) {
  const Domains domains(topology, NodeId(0));
  std::vector<int> numbers;
  for (int r = 0; r < topology.ranks(); ++r) numbers.push_back(domains.of(LocalRank(r)));
  return numbers;
}

TEST(Domains, AreNumaNodes) { EXPECT_EQ(domains_of(node_with({3, 1, 3, 1, 0})), (std::vector{0, 1, 0, 1, 2})); }

TEST(Domains, OfOneNumaNodeAreItsLastLevelCaches) {
  EXPECT_EQ(domains_of(node_with({1, 1, 1, 1}, {4, 4, 5, 4})), (std::vector{0, 0, 1, 0}));
}

TEST(Domains, AreOneWhereTheyDoNotDifferOrAreNotKnown) {
  EXPECT_EQ(domains_of(node_with({1, 1, 1})), (std::vector{0, 0, 0}));
  EXPECT_EQ(domains_of(node_with({0, 1, -1})), (std::vector{0, 0, 0})) << "a rank that is not bound may be anywhere";
  EXPECT_EQ(domains_of(Topology::from_nodes(std::vector{0, 0})), (std::vector{0, 0}));
}

TEST(Domains, OfManyRanksAreCutIntoEqualParts) {
  const Domains parts = Domains::of_caches(node_with(std::vector<int>(20, 0)), NodeId(0)).in_parts();
  EXPECT_EQ(parts.count(), 3);
  for (int part = 0; part < 3; ++part) EXPECT_NEAR(static_cast<double>(parts.members(part).size()), 20 / 3.0, 0.7);
  EXPECT_EQ(Domains::of_caches(node_with(std::vector<int>(8, 0)), NodeId(0)).in_parts().count(), 1);
}

TEST(TwoLevels, NeedSeveralDomainsAndSeveralRanksInOne) {
  EXPECT_TRUE(has_levels(node_with({0, 0, 1}), 2));
  EXPECT_FALSE(has_levels(node_with({0, 1, 2}), 2));
  EXPECT_FALSE(has_levels(node_with({0, 0, 0}), 2));
  EXPECT_FALSE(has_levels(Topology::from_nodes(std::vector{0, 0, 0}), 2));
}

TEST(ThreeLevels, NeedSeveralCachesAndSeveralRanksOnOne) {
  EXPECT_TRUE(has_levels(node_with({0, 0, 1, 1}, {0, 0, 2, 2}), 3));
  EXPECT_TRUE(has_levels(node_with({0, 0, 0, 0}, {0, 0, 2, 2}), 3));
  EXPECT_FALSE(has_levels(node_with({0, 0, 1, 1}, {0, 1, 2, 3}), 3));
  EXPECT_TRUE(has_levels(node_with({0, 0, 1, 1}, {-1, -1, -1, -1}), 3)) << "NUMA nodes stand for unknown caches";
}

Hop hop_of(const Topology& topology, int rank, int writer, int levels = 2) {
  return derive_hop(Builder(topology, Rank(rank)), levels, LocalRank(writer));
}

std::vector<LocalRank> ranks(std::initializer_list<int> numbers) {
  std::vector<LocalRank> list;
  for (const int n : numbers) list.emplace_back(n);
  return list;
}

TEST(Hop, OfOneLevelIsFromTheWriterToAll) {
  const Topology topology = node_with({0, 1, 0, 1});
  EXPECT_EQ(hop_of(topology, 1, 1, 1).readers, ranks({0, 2, 3}));
  EXPECT_EQ(hop_of(topology, 3, 1, 1).from, LocalRank(1));
  EXPECT_EQ(hop_of(topology, 3, 1, 1).siblings, 3);
}

TEST(Hop, OfTwoLevelsGoesThroughTheLowestRankOfEachOtherDomain) {
  const Topology topology = node_with({0, 0, 1, 1, 1, 2});  // rank 1 writes
  EXPECT_EQ(hop_of(topology, 1, 1).readers, ranks({2, 5, 0}));
  EXPECT_EQ(hop_of(topology, 0, 1).from, LocalRank(1)) << "the writer relays for its own domain, not its lowest rank";
  EXPECT_EQ(hop_of(topology, 2, 1).readers, ranks({3, 4}));
  EXPECT_EQ(hop_of(topology, 4, 1).from, LocalRank(2));
  EXPECT_EQ(hop_of(topology, 4, 1).siblings, 2);
  EXPECT_TRUE(hop_of(topology, 5, 1).readers.empty());
}

TEST(Hop, OfThreeLevelsGoesFromCacheToCacheAlongATree) {
  // Two NUMA nodes of three caches of two ranks; rank 2, on the second cache, writes.
  const Topology topology = node_with({0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, {0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10});
  EXPECT_EQ(hop_of(topology, 2, 2, 3).readers, ranks({0, 4, 6, 3}));
  EXPECT_EQ(hop_of(topology, 6, 2, 3).readers, ranks({8, 10, 7}));
  EXPECT_EQ(hop_of(topology, 0, 2, 3).readers, ranks({1}));
  EXPECT_EQ(hop_of(topology, 11, 2, 3).from, LocalRank(10));
}

TEST(Hop, ReachesEveryRankOnceWhereverRanksSit) {
  std::uint32_t state = 1;
  const auto draw = [&](std::uint32_t count) { return (state = state * 1664525 + 1013904223) / 65536 % count; };
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<int> numa(draw(12) + 1), cache(numa.size());
    for (std::size_t r = 0; r < numa.size(); ++r)
      numa[r] = static_cast<int>(draw(4)), cache[r] = 8 * numa[r] + static_cast<int>(draw(3));
    const Topology topology = node_with(numa, cache);
    const int levels = trial % 2 == 0 ? 2 : 3;
    const int writer = static_cast<int>(draw(static_cast<std::uint32_t>(numa.size())));
    std::map<int, int> source;
    for (int r = 0; r < topology.ranks(); ++r)
      for (const LocalRank reader : hop_of(topology, r, writer, levels).readers) {
        EXPECT_TRUE(source.emplace(reader.value, r).second) << "read twice";
        EXPECT_EQ(hop_of(topology, reader.value, writer, levels).from, LocalRank(r));
        EXPECT_EQ(hop_of(topology, reader.value, writer, levels).siblings,
                  static_cast<int>(hop_of(topology, r, writer, levels).readers.size()));
      }
    EXPECT_EQ(source.size(), numa.size() - 1);
    EXPECT_EQ(source.count(writer), 0u);
  }
}

/// How often a byte of the message goes from one NUMA node to another.
Bytes count_crossings(const Topology& topology, plan::Within within, int levels) {
  plan::Choice choice;
  choice.within = within;
  choice.levels = levels;
  const Domains domains(topology, NodeId(0));
  Bytes crossed = 0;
  for (int r = 0; r < topology.ranks(); ++r) {
    Builder builder(topology, Rank(r));
    Spread spread(builder, choice, LocalRank(0), plan::Buffer::output, Placement{});
    spread.pass(0, 256 << 10);
    spread.end();
    for (const Step& step : std::move(builder).take().steps) {
      const bool is_copy = step.op() == Op::get || step.op() == Op::pull || step.op() == Op::push;
      if (is_copy && domains.of(step.neighbour()) != domains.of(LocalRank(r))) crossed += step.bytes();
    }
  }
  return crossed / (256 << 10);
}

TEST(Spread, CrossesToEachOtherDomainOnceWithTwoLevels) {
  const Topology topology = node_with({0, 0, 0, 0, 1, 1, 1, 1, 2, 2});
  for (const plan::Within within : {plan::Within::cells, plan::Within::single_copy}) {
    EXPECT_EQ(count_crossings(topology, within, 1), 6u);
    EXPECT_EQ(count_crossings(topology, within, 2), 2u);
  }
}

/// How many vectors' worth of bytes cross between domains in an allreduce.
Bytes count_crossings_of_sum(const Topology& topology, auto make_sum, const Domains& domains) {
  constexpr Bytes bytes = 48 << 10;
  Bytes crossed = 0;
  for (int r = 0; r < topology.ranks(); ++r) {
    Builder builder(topology, Rank(r));
    auto sum = make_sum(builder, plan::Problem{plan::Operation::allreduce, bytes, Rank(0), 8, true});
    sum.reduce(0, 0, bytes);
    for (const Step& step : std::move(builder).take().steps) {
      const bool reads = step.op() == Op::get || (step.op() == Op::reduce && step.far_buffer() == plan::Buffer::window);
      if (reads && domains.of(step.neighbour()) != domains.of(LocalRank(r))) crossed += step.bytes();
    }
  }
  return crossed / bytes;
}

TEST(DomainReduction, CrossesFromEachDomainToEachOtherOnce) {
  const Topology topology = node_with({0, 0, 0, 0, 1, 1, 1, 1});
  const auto sum_by = [&]<class Sum>(std::type_identity<Sum>) {
    return count_crossings_of_sum(
        topology,
        [](Builder& builder, const plan::Problem& problem) {
          return Sum(builder, problem, {}, Sum::everyone, plan::Buffer::output, 0);
        },
        Domains(topology, NodeId(0)));
  };
  EXPECT_EQ(sum_by(std::type_identity<NodeReduction>{}), 8u);
  EXPECT_EQ(sum_by(std::type_identity<DomainReduction>{}), 2u);
}

TEST(DomainReduction, OfManyCachesCrossesAsOftenAsThereAreCachesAndNotAsPairsOfThem) {
  const Topology topology = node_with(std::vector<int>(16, 0), {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12});
  const auto crossings = [&](int levels) {
    return count_crossings_of_sum(
        topology,
        [&](Builder& builder, const plan::Problem& problem) {
          plan::Choice choice;
          choice.levels = levels;
          return DomainReduction(builder, problem, choice, DomainReduction::everyone, plan::Buffer::output, 0);
        },
        Domains::of_caches(topology, NodeId(0)));
  };
  EXPECT_EQ(crossings(2), 4 * 3u) << "each cache reads all others' partial results";
  EXPECT_EQ(crossings(3), 2 * 3u) << "a quarter of each of three others', and three quarters of the result";
}

}  // namespace
}  // namespace espalier::smp
