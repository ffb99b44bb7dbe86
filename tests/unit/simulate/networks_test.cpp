// Generated networks: every pair is connected the same way each time, over as many links as its distance says.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "simulate/network.hpp"
#include "simulate/placement.hpp"

namespace espalier::simulate {
namespace {

double latency_of(const Network& network, int from, int to) {
  double sum = 0;
  for (const int link : network.route(from, to)) sum += network.links()[static_cast<std::size_t>(link)].latency;
  return sum;
}

double slowest_of(const Network& network, int from, int to) {
  double slowest = 1e300;
  for (const int link : network.route(from, to))
    slowest = std::min(slowest, network.links()[static_cast<std::size_t>(link)].rate);
  return slowest;
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

TEST_P(EveryNetwork, IsAsFarApartAsItsRoutesAre) {
  const auto network = parse_network(GetParam());
  const std::vector<int> hosts = place_nodes(*network, "random:3", network->hosts());
  const topology::Distances distances = network->distances(hosts);
  for (std::size_t a = 0; a < hosts.size(); ++a)
    for (std::size_t b = 0; b < hosts.size(); ++b) {
      if (a == b) continue;
      const topology::Way way = distances.way(NodeId(static_cast<int>(a)), NodeId(static_cast<int>(b)));
      EXPECT_FLOAT_EQ(way.latency, static_cast<float>(latency_of(*network, hosts[a], hosts[b])));
      EXPECT_FLOAT_EQ(way.per_byte, static_cast<float>(1 / slowest_of(*network, hosts[a], hosts[b])));
    }
}

TEST_P(EveryNetwork, PlacesEveryHostOnceByEveryRule) {
  const auto network = parse_network(GetParam());
  for (const char* how : {"block", "racks:1", "racks:2", "random:5", "scattered:5"}) {
    std::vector<int> hosts = place_nodes(*network, how, network->hosts());
    std::sort(hosts.begin(), hosts.end());
    EXPECT_EQ(hosts, place_nodes(*network, "block", network->hosts())) << how;
  }
}

INSTANTIATE_TEST_SUITE_P(Simulate, EveryNetwork,
                         ::testing::Values("star:hosts=5", "fat_tree:leaves=3,down=4,spines=2",
                                           "fat_tree:leaves=1,down=3", "three_level:pods=3,leaves=2,down=3,spines=2",
                                           "dragonfly:groups=5,routers=2,down=2", "dragonfly:groups=2,routers=3,down=1",
                                           "star:hosts=6,slow_hosts=2", "fabric:" FABRIC_DATA "/s16/00-baseline"));

/// The hosts that "racks:1" and the like give a job, as text.
std::string placed(const char* network, const char* how, int nodes) {
  std::string text;
  for (const int host : place_nodes(*parse_network(network), how, nodes)) text += std::to_string(host) + " ";
  return text;
}

TEST(Placement, DealsRacksOutInTurn) {
  EXPECT_EQ(placed("fat_tree:leaves=3,down=4", "racks:1", 7), "0 4 8 1 5 9 2 ");
  EXPECT_EQ(placed("fat_tree:leaves=3,down=4", "racks:2", 7), "0 1 4 5 8 9 2 ");
}

TEST(Placement, ASeedGivesTheSameHostsEverywhere) {
  EXPECT_EQ(placed("star:hosts=12", "random:7", 5), placed("star:hosts=12", "random:7", 5));
  EXPECT_NE(placed("star:hosts=12", "random:7", 5), placed("star:hosts=12", "random:8", 5));
}

TEST(Placement, ScatteredHostsAscend) {
  const auto network = parse_network("star:hosts=40");
  const std::vector<int> hosts = place_nodes(*network, "scattered:2", 10);
  EXPECT_TRUE(std::is_sorted(hosts.begin(), hosts.end()));
  EXPECT_GT(hosts.back(), 10) << "from all over the network";
}

TEST(Placement, AMetricIsHalfOfWhatIsKnown) {
  const auto network = parse_network("fat_tree:leaves=2,down=2,slow_hosts=2");
  const std::vector<int> hosts = {0, 1, 2, 3};
  const NodeId first(0), last(3);
  const topology::Way both = derive_distances(*network, hosts, "combined").way(first, last);
  EXPECT_EQ(derive_distances(*network, hosts, "latency").way(first, last), (topology::Way{both.latency, 0}));
  EXPECT_EQ(derive_distances(*network, hosts, "speed").way(first, last), (topology::Way{0, both.per_byte}));
  EXPECT_TRUE(derive_distances(*network, hosts, "none").is_neutral());
}

TEST(Placement, HostsAreFoundByName) {
  EXPECT_EQ(parse_network("star:hosts=4")->find_host("host3"), 3);
  EXPECT_THROW(parse_network("star:hosts=4")->find_host("host4"), Error);
  const auto dumps = parse_network("fabric:" FABRIC_DATA "/s16/00-baseline");
  EXPECT_EQ(dumps->find_host("node005"), 5);
  EXPECT_EQ(dumps->rack_of(5), dumps->rack_of(4));
  EXPECT_NE(dumps->rack_of(5), dumps->rack_of(15));
}

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
  EXPECT_NE(message("star:rate=nan").find("rate=nan"), std::string::npos);
  EXPECT_NE(message("star:rate=inf").find("rate=inf"), std::string::npos);
  EXPECT_NE(message("fat_tree:spines=0").find("spines"), std::string::npos);
  EXPECT_NE(message("fabric:/nowhere").find("/nowhere"), std::string::npos);
  const auto star = parse_network("star:hosts=3");
  EXPECT_THROW(place_nodes(*star, "random", 2), Error);
  EXPECT_THROW(place_nodes(*star, "racks:0", 2), Error);
  EXPECT_THROW(place_nodes(*star, "block", 4), Error);
  EXPECT_THROW(check_hosts(*star, {0, 0}, 2), Error);
  EXPECT_THROW(check_hosts(*star, {0, 3}, 2), Error);
  EXPECT_THROW(check_hosts(*star, {0}, 2), Error);
  EXPECT_THROW(derive_distances(*star, std::vector<int>{0, 1}, "hops"), Error);
  EXPECT_NE(message("star:hosts=99999999").find("hosts"), std::string::npos);
}

}  // namespace
}  // namespace espalier::simulate
