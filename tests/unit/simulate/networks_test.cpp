// Generated networks: every pair is connected the same way each time, over as many links as its distance says.

#include <gtest/gtest.h>

#include <set>

#include "base/error.hpp"
#include "simulate/network.hpp"

namespace espalier::simulate {
namespace {

double latency_of(const Network& network, int from, int to) {
  double sum = 0;
  for (const int link : network.route(from, to)) sum += network.links()[static_cast<std::size_t>(link)].latency;
  return sum;
}

class EveryNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryNetwork, ConnectsEveryPairByLinksItHasEachOnce) {
  const auto network = parse_network(GetParam());
  for (int from = 0; from < network->hosts(); ++from)
    for (int to = 0; to < network->hosts(); ++to) {
      if (from == to) continue;
      const std::vector<int> route = network->route(from, to);
      EXPECT_EQ(std::set(route.begin(), route.end()).size(), route.size());
      EXPECT_EQ(route.front(), 2 * from) << "leaves by the sender's adapter";
      EXPECT_EQ(route.back(), 2 * to + 1) << "enters by the receiver's";
      for (const int link : route) {
        ASSERT_GE(link, 0);
        ASSERT_LT(link, static_cast<int>(network->links().size()));
      }
    }
}

TEST_P(EveryNetwork, NamesItsLinksUniquely) {
  const auto network = parse_network(GetParam());
  std::set<std::string> names;
  for (const Link& link : network->links()) names.insert(link.name);
  EXPECT_EQ(names.size(), network->links().size());
}

INSTANTIATE_TEST_SUITE_P(Simulate, EveryNetwork,
                         ::testing::Values("star:hosts=5", "fat_tree:leaves=3,down=4,spines=2",
                                           "fat_tree:leaves=1,down=3", "three_level:pods=3,leaves=2,down=3,spines=2",
                                           "dragonfly:groups=5,routers=2,down=2",
                                           "dragonfly:groups=2,routers=3,down=1"));

TEST(Networks, LatenciesOfAThreeLevelTreeAreRangers) {
  const auto network = parse_network("three_level:pods=2,leaves=2,down=2,spines=2");
  EXPECT_NEAR(latency_of(*network, 0, 1), 1.57, 1e-9);
  EXPECT_NEAR(latency_of(*network, 0, 2), 2.04, 1e-9);
  EXPECT_NEAR(latency_of(*network, 0, 4), 2.45, 1e-9);
}

TEST(Networks, OversubscriptionDividesWhatALeafSendsUp) {
  const auto network = parse_network("fat_tree:leaves=2,down=8,spines=4,oversubscription=2,rate=1000");
  double up = 0;
  for (const Link& link : network->links())
    if (link.name.starts_with("leaf0.") && link.name.ends_with(".up")) up += link.rate;
  EXPECT_NEAR(up, 8 * 1000.0 / 2, 1e-9);
}

TEST(Networks, SlowHostsAreSpreadEvenly) {
  const auto network = parse_network("star:hosts=8,slow_hosts=4,rate=2000,slow_rate=500");
  std::string pattern;
  for (int h = 0; h < 8; ++h) pattern += network->links()[static_cast<std::size_t>(2 * h)].rate < 1000 ? 's' : 'f';
  EXPECT_EQ(pattern, "fsfsfsfs");
}

TEST(Networks, ADragonflysPacketCrossesOneGlobalCable) {
  const auto network = parse_network("dragonfly:groups=5,routers=2,down=2");
  for (int to = 4; to < network->hosts(); ++to) {
    int global = 0;
    for (const int link : network->route(0, to))
      global += network->links()[static_cast<std::size_t>(link)].name.find(">group") != std::string::npos;
    EXPECT_EQ(global, 1);
  }
}

TEST(Networks, MistakesAreNamed) {
  const auto message = [](const char* text) -> std::string {
    try {
      parse_network(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("torus:x=3").find("unknown kind of network 'torus'"), std::string::npos);
  EXPECT_NE(message("star:hoss=2").find("'hoss'"), std::string::npos);
  EXPECT_NE(message("star:hosts").find("name=value"), std::string::npos);
  EXPECT_NE(message("star:hosts=many").find("hosts=many"), std::string::npos);
  EXPECT_NE(message("star:hosts=0").find("at least one host"), std::string::npos);
  EXPECT_NE(message("star:rate=0").find("above 0"), std::string::npos);
  EXPECT_NE(message("fat_tree:spines=0").find("spines"), std::string::npos);
  EXPECT_NE(message("star:hosts=99999999").find("hosts"), std::string::npos);
}

}  // namespace
}  // namespace espalier::simulate
