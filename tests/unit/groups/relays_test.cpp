#include "groups/relays.hpp"

#include <gtest/gtest.h>

#include <map>

namespace espalier::groups {
namespace {

std::vector<int> every(int step, int from, int below) {
  std::vector<int> distances;
  for (int d = from; d < below; d += step) distances.push_back(d);
  return distances;
}

/// How far each block has come when all phases are over, if it went in every relay that carries it; checks that
/// `arriving` are those at the front that never go on.
std::vector<int> travel(const std::vector<int>& distances, const std::vector<Phase>& phases) {
  std::vector<int> travelled(distances.size());
  for (const Phase& phase : phases)
    for (const Relay& relay : phase)
      for (int k = 0; k < static_cast<int>(relay.carried.size()); ++k) {
        const auto block = static_cast<std::size_t>(relay.carried[static_cast<std::size_t>(k)]);
        travelled[block] += relay.distance;
        EXPECT_EQ(k < relay.arriving, travelled[block] == distances[block]);
      }
  return travelled;
}

TEST(Relays, BringEveryBlockToWhereItWantsToGo) {
  for (int nodes = 2; nodes <= 70; ++nodes)
    for (const int radix : {2, 3, 4, 8, 64})
      for (const int groups : {1, 2, 5, 8})
        for (int group = 0; group < groups; ++group) {
          const std::vector<int> distances = every(groups, 1 + group, nodes);
          EXPECT_EQ(travel(distances, derive_relays(distances, radix)), distances) << nodes << " by " << radix;
        }
}

TEST(Relays, NeverCarryABlockTwiceInAPhaseNorTwoMessagesToOneNode) {
  const std::vector<int> distances = every(1, 1, 100);
  std::map<int, int> to;
  for (const Phase& phase : derive_relays(distances, 4)) {
    std::map<int, int> carried;
    for (const Relay& relay : phase) {
      EXPECT_EQ(++to[relay.distance], 1);
      for (const int block : relay.carried) EXPECT_EQ(++carried[block], 1);
    }
  }
}

TEST(Relays, AreAsManyAsTheDigitsSay) {
  const auto count = [](const std::vector<Phase>& phases) {
    std::size_t relays = 0;
    for (const Phase& phase : phases) relays += phase.size();
    return std::pair{phases.size(), relays};
  };
  const std::vector<int> all = every(1, 1, 64), eighth = every(8, 3, 64);
  EXPECT_EQ(count(derive_relays(all, 2)), (std::pair<std::size_t, std::size_t>{6, 6}));
  EXPECT_EQ(count(derive_relays(all, 8)), (std::pair<std::size_t, std::size_t>{2, 14}));
  EXPECT_EQ(count(derive_relays(all, 64)), (std::pair<std::size_t, std::size_t>{1, 63}));
  EXPECT_EQ(count(derive_relays(eighth, 8)), (std::pair<std::size_t, std::size_t>{2, 8})) << "all have one low digit";
  EXPECT_EQ(count(derive_straight(eighth)), (std::pair<std::size_t, std::size_t>{1, 8}));
}

TEST(Relays, AreNoneWhereThereIsNobodyElse) { EXPECT_TRUE(derive_relays({}, 2).empty()); }

}  // namespace
}  // namespace espalier::groups
