#include "verify/plans/random.hpp"

#include <gtest/gtest.h>

#include <set>

#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "leaders/speakers.hpp"
#include "verify/plans/places.hpp"

namespace espalier::verify {
namespace {

/// Somewhere another rank than the first speaks for its node.
bool has_other_leaders(const Specimen& specimen) {
  const leaders::Speakers speakers(specimen.topology, {plan::Operation::allgather}, specimen.choice.leaders);
  for (int n = 0; n < specimen.topology.nodes(); ++n)
    if (speakers.local_of(NodeId(n)) != LocalRank(0)) return true;
  return false;
}

TEST(RandomPlans, AreCorrect) {
  const Outcome outcome = verify_random(200, 7);
  EXPECT_EQ(outcome.checked, 200u);
  for (const Outcome::Failure& failure : outcome.failures)
    ADD_FAILURE() << to_string(failure.violation) << "\n  " << failure.reproducer;
}

TEST(RandomPlans, AreTheSameForASeed) {
  Random one(42, 3), two(42, 3), other(43, 3);
  EXPECT_EQ(reproducer(draw_specimen(one)), reproducer(draw_specimen(two)));
  EXPECT_NE(reproducer(draw_specimen(two)), reproducer(draw_specimen(other)));
}

// mt19937_64 and seed_seq are fixed by the standard, and the reduction is ours: any platform must draw these.
TEST(RandomPlans, AreTheSameOnEveryPlatform) {
  Random random(1, 0);
  std::vector<std::uint64_t> drawn;
  for (int i = 0; i < 4; ++i) drawn.push_back(random.below(1000));
  EXPECT_EQ(drawn, (std::vector<std::uint64_t>{404, 842, 285, 882}));
}

TEST(RandomPlans, CoverAlgorithmsPlacementsAndEdges) {
  std::set<plan::Between> exchanges, registered;
  for (const algorithms::Algorithm& algorithm : algorithms::algorithms()) registered.insert(algorithm.between);
  int empty = 0, one_byte = 0, one_node = 0, spread_out = 0, shuffled = 0, single_copy = 0, led = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    Random random(5, i);
    const Specimen specimen = draw_specimen(random);
    EXPECT_EQ(algorithms::why_invalid(specimen.topology, specimen.problem, specimen.choice), "");
    exchanges.insert(specimen.choice.between);
    empty += specimen.problem.bytes == 0 && specimen.problem.operation != plan::Operation::barrier;
    one_byte += specimen.problem.bytes == 1;
    one_node += specimen.topology.nodes() == 1 && specimen.topology.ranks() > 1;
    spread_out += specimen.topology.nodes() == specimen.topology.ranks() && specimen.topology.ranks() > 1;
    shuffled += !specimen.topology.is_blocked();
    led += has_other_leaders(specimen);
    single_copy += specimen.choice.within == plan::Within::single_copy;
  }
  EXPECT_EQ(exchanges, registered);
  for (const int count : {empty, one_byte, one_node, spread_out, shuffled, single_copy, led}) EXPECT_GT(count, 20);
}

TEST(RandomPlans, ProgressMayStop) {
  EXPECT_EQ(verify_random(100, 1, [](std::uint64_t done) { return done < 3; }).checked, 3u);
}

TEST(RandomPlans, ReproducersRebuildThePlan) {
  const Specimen specimen{topology::Topology::from_nodes(std::vector{4, 4, 9}, {.single_copy = true}),
                          {plan::Operation::broadcast, 4097, Rank(1)},
                          {.between = plan::Between::chain, .segment = 1024, .cell = 64, .cells = 2}};
  EXPECT_EQ(reproducer(specimen),
            "build(Topology([0, 0, 1], single_copy=True), \"broadcast\", 4097, 1, "
            "\"chain,segment=1K,within=cells,cell=64,cells=2\")");
}

TEST(RandomPlans, ReproducersInventPlacesAgain) {
  const std::vector<int> node_of = {0, 0, 1};
  const Specimen specimen{topology::Topology::from_nodes(node_of, {.turn = 2}, draw_places(node_of, 9)),
                          {plan::Operation::barrier},
                          {.between = "dissemination"},
                          9};
  EXPECT_NE(reproducer(specimen).find("facts=draw_places([0, 0, 1], 9), turn=2)"), std::string::npos);
}

TEST(InventedPlaces, AreTheSameForASeedAndNoneForZero) {
  const std::vector<int> node_of(16, 0);
  EXPECT_EQ(draw_places(node_of, 4), draw_places(node_of, 4));
  EXPECT_NE(draw_places(node_of, 4), draw_places(node_of, 5));
  EXPECT_TRUE(draw_places(node_of, 0).empty());
}

}  // namespace
}  // namespace espalier::verify
