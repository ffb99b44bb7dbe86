#include "leaders/election.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "cluster.hpp"

namespace espalier::leaders {
namespace {

using machine::Binding;
using machine::Mapping;
using machine::RankFacts;
using testing::facts_of;
using testing::snapshot;

std::vector<int> ranks_of(const Election& election) {
  std::vector<int> ranks;
  for (const Leader& leader : election.leaders) ranks.push_back(leader.rank.value);
  return ranks;
}

std::vector<int> elect_near(const std::vector<RankFacts>& facts, int count = 1, int turn = 0) {
  return ranks_of(elect(facts, static_cast<int>(facts.size()), {Policy::near, count, turn}));
}

// Why nearness did not decide; the election must then be the natural one.
std::string_view why_natural(const std::vector<RankFacts>& facts, int ranks) {
  const Election election = elect(facts, ranks, {Policy::near, 2, 1});
  EXPECT_EQ(ranks_of(election), (std::vector<int>{0, 1}));
  return election.reason;
}

TEST(Election, TakesTheRankNearestToTheNic) {
  const machine::Node opteron = snapshot("opteron-4s");  // the card is at NUMA node 1
  EXPECT_EQ(elect_near(facts_of(opteron, Mapping::packed, 8)), (std::vector<int>{2}));
  EXPECT_EQ(elect_near(facts_of(opteron, Mapping::scattered, 8)), (std::vector<int>{1}));
}

TEST(Election, TakesTheNextBestWhenNobodyIsNear) {
  // NUMA nodes 2 and 3 only: 3 is one link away from the card, 2 is two.
  EXPECT_EQ(elect_near(facts_of(snapshot("opteron-4s"), Mapping::half, 4), 4), (std::vector<int>{2, 3, 0, 1}));
}

TEST(Election, SpreadsLeadersOverL3Groups) {
  // NUMA node 5 has processors 40 to 47 in two L3 groups of four.
  EXPECT_EQ(elect_near(facts_of(snapshot("epyc-2s-nps4"), Mapping::packed, 64), 4), (std::vector<int>{40, 44, 41, 45}));
}

TEST(Election, GivesEveryNicALeaderNearIt) {
  const std::vector<RankFacts> facts = facts_of(snapshot("gpu-8nic"), Mapping::packed, 64);
  const Election election = elect(facts, 64, {Policy::near, 8, 0});
  std::set<int> nics;
  for (const Leader& leader : election.leaders) {
    EXPECT_EQ(facts[static_cast<std::size_t>(leader.rank.value)].distance[static_cast<std::size_t>(leader.nic)], 10);
    nics.insert(leader.nic);
  }
  EXPECT_EQ(nics.size(), 8U);
}

TEST(Election, LeavesTheOtherHalfsNicsAloneWhenAJobHasHalfOfANode) {
  // NUMA nodes 4 to 7, beside NICs 4 to 7; NICs 0 to 3 are at the other package.
  const std::vector<RankFacts> facts = facts_of(snapshot("gpu-8nic"), Mapping::half, 32);
  const auto nics_of = [&](int count, int turn) {
    std::vector<int> nics;
    for (const Leader& leader : elect(facts, 32, {Policy::near, count, turn}).leaders) nics.push_back(leader.nic);
    return nics;
  };
  EXPECT_EQ(nics_of(4, 0), (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(nics_of(2, 1), (std::vector<int>{5, 6}));
  EXPECT_EQ(nics_of(2, 3), (std::vector<int>{7, 4}));
  EXPECT_EQ(nics_of(6, 0), (std::vector<int>{4, 5, 6, 7, 0, 1}));
}

TEST(Election, TurnsAmongEquals) {
  const std::vector<RankFacts> one = facts_of(snapshot("xeon-2s-1nic"), Mapping::packed, 16);
  std::set<int> leaders;
  for (int turn = 0; turn < 8; ++turn) leaders.insert(elect_near(one, 1, turn).front());
  EXPECT_EQ(leaders, (std::set<int>{8, 9, 10, 11, 12, 13, 14, 15})) << "communicators use all the near cores";
  const std::vector<RankFacts> two = facts_of(snapshot("xeon-2s-2nic"), Mapping::packed, 16);
  EXPECT_EQ(elect_near(two, 1, 0), (std::vector<int>{0}));
  EXPECT_EQ(elect_near(two, 1, 1), (std::vector<int>{8})) << "the other card first";
  EXPECT_EQ(elect_near(two, 1, 2), (std::vector<int>{1}));
}

TEST(Election, CanSpreadOverNumaNodes) {
  const std::vector<RankFacts> facts = facts_of(snapshot("opteron-4s"), Mapping::packed, 8);
  EXPECT_EQ(ranks_of(elect(facts, 8, {Policy::spread, 4, 0})), (std::vector<int>{2, 0, 6, 4})) << "the nearest first";
  EXPECT_EQ(ranks_of(elect(facts, 8, {Policy::spread, 8, 0})).size(), 8U);
}

TEST(Election, ElectsNobodyTwiceAndNoMoreThanThereAre) {
  for (const char* name : {"opteron-4s", "xeon-2s-2nic", "epyc-2s-nps4", "gpu-8nic", "arm-flat", "vm-no-pci"})
    for (const Mapping mapping : {Mapping::packed, Mapping::scattered, Mapping::unbound, Mapping::half})
      for (const Policy policy : {Policy::natural, Policy::near, Policy::spread})
        for (const int ranks : {1, 2, 7, 13}) {
          const std::vector<RankFacts> facts = facts_of(snapshot(name), mapping, ranks);
          const Election election = elect(facts, ranks, {policy, 9, 3});
          const std::vector<int> elected = ranks_of(election);
          EXPECT_EQ(std::set<int>(elected.begin(), elected.end()).size(), static_cast<std::size_t>(std::min(ranks, 9)));
          EXPECT_EQ(elected.size(), static_cast<std::size_t>(std::min(ranks, 9)));
          EXPECT_FALSE(election.reason.empty());
        }
}

TEST(Election, PutsUnboundRanksBehindBoundOnes) {
  const machine::Node opteron = snapshot("opteron-4s");
  std::vector<RankFacts> facts = facts_of(opteron, Mapping::unbound, 3);
  facts.push_back(facts_of(opteron, Mapping::half, 1).front());  // as far from the card as can be
  EXPECT_EQ(elect_near(facts, 2), (std::vector<int>{3, 0}));
}

TEST(Election, IsNaturalWhereFactsSayNothing) {
  EXPECT_EQ(why_natural({}, 4), "nothing is known about the node");
  EXPECT_EQ(why_natural(std::vector<RankFacts>(4), 4), "no NIC is known");
  EXPECT_EQ(why_natural(facts_of(snapshot("vm-no-pci"), Mapping::packed, 4), 4), "no NIC is known");
  EXPECT_EQ(why_natural(facts_of(snapshot("arm-flat"), Mapping::packed, 4), 4), "one NUMA node: every rank is near");
  const machine::Node opteron = snapshot("opteron-4s");
  EXPECT_EQ(why_natural(facts_of(opteron, Mapping::unbound, 4), 4), "no rank is bound to a NUMA node");
  EXPECT_EQ(why_natural(facts_of(opteron, Mapping::packed, 2), 2), "all ranks are equally far");
  EXPECT_EQ(why_natural(facts_of(snapshot("xeon-2s-nowhere"), Mapping::packed, 16), 16),
            "where the NIC sits is not known");
}

TEST(Election, IsNaturalWhenRanksOfANodeSeeDifferentThings) {
  const machine::Node one = snapshot("xeon-2s-1nic"), two = snapshot("xeon-2s-2nic");
  std::vector<RankFacts> facts = facts_of(one, Mapping::packed, 16);
  facts[3] = facts_of(two, Mapping::packed, 16)[3];
  EXPECT_EQ(why_natural(facts, 16), "its ranks see different NICs");
  facts[3] = RankFacts{};  // a container without PCI
  EXPECT_EQ(why_natural(facts, 16), "its ranks see different NICs");
  RankFacts damaged;
  damaged.nics = 200;
  EXPECT_EQ(why_natural(std::vector<RankFacts>(4, damaged), 4), "its facts make no sense");
}

TEST(Election, DoesWhatItIsAsked) {
  const std::vector<RankFacts> facts = facts_of(snapshot("xeon-2s-2nic"), Mapping::scattered, 16);
  const Election natural = elect(facts, 16, {Policy::natural, 2, 5});
  EXPECT_EQ(natural.leaders, (std::vector<Leader>{{LocalRank(0), 0}, {LocalRank(1), 1}})) << "with their nearest NICs";
  EXPECT_EQ(parse_policy("spread"), Policy::spread);
  EXPECT_THROW(parse_policy("nearest"), Error);
}

}  // namespace
}  // namespace espalier::leaders
