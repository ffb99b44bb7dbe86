#include "machine/rank_facts.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "base/error.hpp"
#include "machine/mapping.hpp"
#include "machine/place.hpp"
#include "machine/readers.hpp"

namespace espalier::machine {
namespace {

const std::string opteron = ESPALIER_SNAPSHOTS "/machines/opteron-4s.xml";

RankFacts facts_on(const Node& node, const char* cpus) {
  return derive_rank_facts(node, derive_nics_in_use(node, {}), CpuSet::parse(cpus));
}

TEST(RankFacts, SayHowFarTheNicIs) {
  const Node node = probe_snapshot(opteron);
  EXPECT_EQ(facts_on(node, "2").distance[0], 10);
  EXPECT_EQ(facts_on(node, "0-1").distance[0], 16);
  EXPECT_EQ(facts_on(node, "4").distance[0], 22);
  const RankFacts near = facts_on(node, "3");
  EXPECT_EQ(near.binding, Binding::bound);
  EXPECT_EQ(near.numa, 1);
  EXPECT_EQ(near.numa_nodes, 4);
  EXPECT_EQ(near.nics, 1);
  EXPECT_EQ(near.nic_numa[0], 1);
  EXPECT_EQ(near.distance[1], unknown_distance);
  EXPECT_EQ(near.mbits, 16'000u) << "the fastest in use";
}

TEST(RankFacts, OfRanksOnSeveralNumaNodesAreNeutral) {
  const Node node = probe_snapshot(opteron);
  EXPECT_EQ(facts_on(node, "0-7").binding, Binding::unbound);
  EXPECT_EQ(facts_on(node, "3-4").distance[0], unknown_distance);
  EXPECT_EQ(facts_on(node, "").binding, Binding::unknown);
  EXPECT_EQ(facts_on(node, "640").binding, Binding::unknown) << "a processor that the snapshot does not have";
}

TEST(RankFacts, OfNeighboursHaveTheSameKeyAndEqualBytes) {
  const Node node = probe_snapshot(opteron), other = probe_snapshot(ESPALIER_SNAPSHOTS "/machines/xeon-2s-1nic.xml");
  EXPECT_EQ(facts_on(node, "0").nics_key, facts_on(node, "7").nics_key);
  EXPECT_NE(facts_on(node, "0").nics_key, facts_on(other, "0").nics_key);
  const RankFacts a = facts_on(node, "0"), b = facts_on(node, "0-1");
  EXPECT_EQ(std::memcmp(&a, &b, sizeof a), 0);
  EXPECT_EQ(facts_on(probe_synthetic("package:2 numa:1 core:2 pu:1"), "0").nics_key, 0U);
}

TEST(Mapping, FillsNumaNodesOneByOneOrInTurn) {
  const Node node = probe_snapshot(opteron);
  const auto cpus = [&](const char* mapping) {
    std::string text;
    for (int i = 0; i < 5; ++i) text += derive_binding(node, parse_mapping(mapping), i).text() + ' ';
    return text;
  };
  EXPECT_EQ(cpus("packed"), "0 1 2 3 4 ");
  EXPECT_EQ(cpus("scattered"), "0 2 4 6 1 ");
  EXPECT_EQ(cpus("unbound"), "0-7 0-7 0-7 0-7 0-7 ");
  EXPECT_EQ(cpus("half"), "4 5 6 7 4 ") << "shared when there are more ranks than processors";
  EXPECT_THROW(parse_mapping("dense"), Error);
}

TEST(Place, OfThisProcessIsFoundWithoutHwloc) {
  const Place place = probe_place({});
  EXPECT_GE(place.facts.numa_nodes, 1);
  EXPECT_NE(place.facts.binding, Binding::unknown);
  EXPECT_FALSE(place.remark.empty());
}

TEST(Place, CanBePretended) {
  const Place place = probe_place({"", opteron, "scattered", 1});
  EXPECT_EQ(place.facts.numa, 1);
  EXPECT_EQ(place.facts.distance[0], 10);
  EXPECT_EQ(place.remark, "mlx4_0: the fastest that is up");
}

TEST(Place, ThatCannotBeFoundSaysNothingButWhy) {
  const Place lost = probe_place({"", "/nowhere/machine.xml", "", 0});
  EXPECT_EQ(lost.facts, RankFacts{});
  EXPECT_EQ(lost.remark, "/nowhere/machine.xml: cannot be read (No such file or directory)");
  EXPECT_EQ(lost.complaint,
            "/nowhere/machine.xml: cannot be read (No such file or directory); leaders are elected by rank");
  EXPECT_EQ(probe_place({"", opteron, "dense", 0}).facts, RankFacts{});
}

TEST(Place, OfANicThatIsNotThereSaysSo) {
  const Place place = probe_place({"mlx5_7", opteron, "", 0});
  EXPECT_EQ(place.facts.nics, 1) << "found out instead";
  EXPECT_NE(place.complaint.find("ESPALIER_NIC=mlx5_7 names no network device"), std::string::npos) << place.complaint;
  EXPECT_EQ(probe_place({"mlx4_0", opteron, "", 0}).complaint, "");
}

}  // namespace
}  // namespace espalier::machine
