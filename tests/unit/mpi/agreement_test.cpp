#include "mpi/setup/agreement.hpp"

#include <gtest/gtest.h>

namespace espalier::mpi {
namespace {

// Ranks on one host of eight cores, all allowed to use them all.
std::vector<Facts> alike(int ranks) {
  Facts facts;
  facts.host = 1;
  facts.core_set = 7;
  facts.cores = facts.host_cores = 8;
  return std::vector<Facts>(static_cast<std::size_t>(ranks), facts);
}

TEST(Agreement, PutsRanksOfOneHostOnOneNode) {
  auto facts = alike(4);
  facts[1].host = facts[3].host = 2;
  const Agreement agreement = derive_agreement(facts, false);
  EXPECT_EQ(agreement.refusal, "");
  EXPECT_EQ(agreement.node_of, (std::vector<int>{0, 1, 0, 1}));
}

TEST(Agreement, SplitsAHostIntoVirtualNodes) {
  auto facts = alike(3);
  facts[2].virtual_node = 1;
  EXPECT_EQ(derive_agreement(facts, false).node_of, (std::vector<int>{0, 0, 1}));
}

TEST(Agreement, KnowsPlacesOnceARankKnowsOne) {
  auto facts = alike(2);
  EXPECT_TRUE(derive_agreement(facts, false).places.empty());
  facts[1].place.numa = 3;
  EXPECT_EQ(derive_agreement(facts, false).places[1].numa, 3);
}

TEST(Agreement, TakesHandOverToBeSlowOnceItIsSomewhere) {
  auto facts = alike(2);
  EXPECT_EQ(derive_agreement(facts, false).handover, machine::Handover::quick);
  facts[1].handover = static_cast<int>(machine::Handover::slow);
  EXPECT_EQ(derive_agreement(facts, false).handover, machine::Handover::slow);
}

TEST(Agreement, TakesTurnsByTheProcessWithMostCommunicators) {
  EXPECT_EQ(derive_turn(std::vector<std::int32_t>{0, 5, 3}), 5);
}

TEST(Waiting, NeedsBellsOnlyWhereRanksShareCores) {
  EXPECT_EQ(derive_waiting(Waiting::auto_, false), Waiting::yield);
  EXPECT_EQ(derive_waiting(Waiting::auto_, true), Waiting::auto_);
  EXPECT_EQ(derive_waiting(Waiting::spin, true), Waiting::spin);
}

TEST(Agreement, RefusesRanksWithDifferentSettings) {
  auto facts = alike(3);
  facts[2].settings = 5;
  EXPECT_NE(derive_agreement(facts, false).refusal.find("settings differ"), std::string::npos);
}

TEST(Agreement, RefusesRanksOfDifferentVersions) {
  auto facts = alike(3);
  facts[1].format = 5;
  EXPECT_NE(derive_agreement(facts, false).refusal.find("different versions"), std::string::npos);
}

TEST(Agreement, OneRankWithADeviceRuntimeKeepsAllNative) {
  auto facts = alike(3);
  facts[1].may_use_devices = 1;
  EXPECT_NE(derive_agreement(facts, false).refusal.find("ESPALIER_ASSUME_HOST_BUFFERS"), std::string::npos);
  EXPECT_EQ(derive_agreement(facts, true).refusal, "");
}

TEST(Agreement, SeesMoreRanksThanCores) {
  EXPECT_FALSE(derive_agreement(alike(8), false).oversubscribed);
  EXPECT_TRUE(derive_agreement(alike(9), false).oversubscribed);
}

TEST(Agreement, CountsRanksOfTheJobOutsideTheCommunicator) {
  auto facts = alike(2);
  for (Facts& rank : facts) rank.processes_on_host = 9;
  EXPECT_TRUE(derive_agreement(facts, false).oversubscribed);
}

TEST(Agreement, RanksBoundToCoresOfTheirOwnAreNotOversubscribed) {
  auto facts = alike(8);
  for (std::size_t rank = 0; rank < facts.size(); ++rank) {
    facts[rank].core_set = 100 + rank;
    facts[rank].cores = 1;
    facts[rank].processes_on_host = 64;  // bound elsewhere, as we are
  }
  EXPECT_FALSE(derive_agreement(facts, false).oversubscribed);
  facts[1].core_set = facts[0].core_set;
  EXPECT_TRUE(derive_agreement(facts, false).oversubscribed) << "two ranks on one core";
}

TEST(Agreement, AQuotaCountsForTheWholeHost) {
  auto facts = alike(3);
  for (Facts& rank : facts) rank.host_cores = 2;
  EXPECT_TRUE(derive_agreement(facts, false).oversubscribed);
}

TEST(Agreement, RanksThatShareCoresKnowHowMany) {
  EXPECT_EQ(derive_agreement(alike(8), false).shared_cores, 0) << "a core for each";
  EXPECT_EQ(derive_agreement(alike(9), false).shared_cores, 8);
  auto facts = alike(9);
  for (std::size_t rank = 0; rank < facts.size(); ++rank) facts[rank].virtual_node = rank < 4 ? 0 : 1;
  EXPECT_EQ(derive_agreement(facts, false).shared_cores, 4) << "two virtual nodes have half of the host's each";
}

TEST(Agreement, OnlyATableThatAllRanksHoldDecides) {
  auto facts = alike(3);
  EXPECT_FALSE(derive_agreement(facts, false).has_table);
  for (Facts& rank : facts) rank.table = 5;
  EXPECT_TRUE(derive_agreement(facts, false).has_table);
  EXPECT_FALSE(derive_agreement(facts, false).has_different_tables);
  facts[1].table = 0;
  const Agreement agreement = derive_agreement(facts, false);
  EXPECT_EQ(agreement.refusal, "") << "the collectives are served all the same";
  EXPECT_FALSE(agreement.has_table);
  EXPECT_TRUE(agreement.has_different_tables);
}

TEST(SingleCopyMeans, AreThoseThatAreWantedAndWorkEverywhere) {
  constexpr SingleCopyMeans neither{}, cma{true, false}, both{true, true};
  EXPECT_EQ(derive_means(CopyMeans::automatic, both), both);
  EXPECT_EQ(derive_means(CopyMeans::automatic, cma), cma);
  EXPECT_EQ(derive_means(CopyMeans::cma, both), cma);
  EXPECT_EQ(derive_means(CopyMeans::xpmem, cma), cma) << "what is missing anywhere is used nowhere";
  EXPECT_EQ(derive_means(CopyMeans::none, both), neither);
  EXPECT_EQ(to_string(both), "by XPMEM and CMA");
  EXPECT_EQ(to_string(neither), "off");
}

TEST(Window, ShrinksWhereManyRanksShareANode) {
  EXPECT_EQ(derive_window(256 << 10, 2, 64 << 20), Bytes{256 << 10});
  EXPECT_EQ(derive_window(256 << 10, 256, 64 << 20), Bytes{128 << 10});
  EXPECT_EQ(derive_window(256 << 10, 300, 64 << 20) % 4096, 0u);
  EXPECT_EQ(derive_window(256 << 10, 1 << 20, 64 << 20), 4096u);
}

TEST(Facts, NameThisProcess) {
  const Facts facts = probe_facts(Settings{});
  EXPECT_EQ(facts.format, Facts::current_format);
  EXPECT_GT(facts.pid, 0);
  EXPECT_GT(facts.cores, 0);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(facts.word_address), facts.word);
  EXPECT_EQ(probe_facts(Settings{}).host, facts.host);
  Settings other;
  other.collective_text = "ESPALIER_VERIFY=1;";
  EXPECT_NE(probe_facts(other).settings, facts.settings);
}

}  // namespace
}  // namespace espalier::mpi
