#include "fabric/delays.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "fabric/cables.hpp"
#include "fabric/captures.hpp"
#include "fabric/dumps/readers.hpp"

namespace espalier::fabric {
namespace {

TEST(Delays, FollowTheRouteInEachDirection) {
  const auto delays = delays_of(load_texts({kSquare, kSquareTables}));
  EXPECT_EQ(delays.links(0, 1), 4);
  EXPECT_DOUBLE_EQ(delays.gbps(0, 1), 16);  // over the DDR link
  EXPECT_DOUBLE_EQ(delays.gbps(1, 0), 32);
  EXPECT_EQ(delays.delay(0, 0, {}), 0);
  EXPECT_DOUBLE_EQ(delays.delay(0, 1, {Metric::speed}), 1 / (16 * 125.0));
  EXPECT_DOUBLE_EQ(delays.delay(0, 1, {Metric::adapter}), 1 / (32 * 125.0));
}

TEST(Delays, LatencyIsRangersTableBetweenItsPoints) {
  const auto table = LatencyTable::ranger();
  EXPECT_DOUBLE_EQ(table.at(2), 1.57);
  EXPECT_DOUBLE_EQ(table.at(5), 2.45);
  EXPECT_DOUBLE_EQ(table.at(4), (2.04 + 2.45) / 2);
  EXPECT_DOUBLE_EQ(table.at(1), 1.57);
  EXPECT_DOUBLE_EQ(table.at(99), 2.85);
}

TEST(Delays, CombinedIsLatencyPlusSizeTimesSpeed) {
  const auto delays = delays_of(load_texts({kSquare, kSquareTables}));
  EXPECT_DOUBLE_EQ(delays.delay(0, 1, {Metric::combined, 64000}), LatencyTable::ranger().at(4) + 64000 / 2000.0);
}

TEST(RouteCables, AreThoseOfTheTracedRoutesBetweenSwitches) {
  const Fabric fabric = load_folder(FABRIC_DATA "/s16/00-baseline");
  std::vector<Endpoint> ends;
  for (const Host& host : fabric.hosts) ends.push_back(host.endpoints.front());
  const RouteCables cables = derive_cables(fabric, ends, 1 << 16);
  for (std::size_t from = 0; from < ends.size(); ++from)
    for (std::size_t to = 0; to < ends.size(); ++to) {
      const auto at = static_cast<std::size_t>(cables.leaf_of[from]) * ends.size() + to;
      const int length = cables.begin[at + 1] - cables.begin[at];
      if (from == to) continue;
      EXPECT_EQ(length, std::max(0, trace_route(fabric, ends[from], ends[to]).links() - 2)) << from << " to " << to;
    }
  EXPECT_TRUE(derive_cables(fabric, ends, 8).begin.empty()) << "too many routes";
}

TEST(Delays, NoRouteIsInfinitelyFar) {
  const auto delays = delays_of(load_texts({kSquare, replaced(kSquareTables, "0x0006 003", "0x0006 009")}));
  EXPECT_TRUE(std::isinf(delays.delay(0, 1, {})));
  EXPECT_EQ(delays.status(0, 1), RouteStatus::port_down);
  EXPECT_EQ(delays.links(0, 1), -1);
  EXPECT_EQ(delays.links(1, 0), 4);
}

TEST(Delays, UnknownRatesPreferNobody) {
  const auto delays =
      delays_of(load_texts({"SwitchName=top Switches=l[1-2]\nSwitchName=l1 Nodes=n[1-2]\nSwitchName=l2 Nodes=n3\n"}));
  EXPECT_EQ(delays.delay(0, 1, {Metric::speed}), 0);
  EXPECT_EQ(delays.links(0, 1), 2);
  EXPECT_EQ(delays.links(0, 2), 4);
}

class DelaysOfACapture : public testing::TestWithParam<const char*> {};

// Before and after links, spines and hosts went away, and where the tables are of another time than the wiring.
TEST_P(DelaysOfACapture, AgreeWithEveryRoute) {
  const auto fabric = load_capture(std::string(FABRIC_DATA "/s16/") + GetParam());
  const auto delays = delays_of(fabric);
  for (std::size_t from = 0; from < delays.hosts(); ++from) {
    for (std::size_t to = 0; to < delays.hosts(); ++to) {
      const auto route = trace_route(fabric, fabric.hosts[from].endpoints[0], fabric.hosts[to].endpoints[0]);
      EXPECT_EQ(delays.status(from, to), route.status);
      EXPECT_EQ(delays.links(from, to), route.links());
      EXPECT_FLOAT_EQ(delays.gbps(from, to), find_bottleneck(fabric, route).gbps());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(S16, DelaysOfACapture,
                         testing::Values("00-baseline", "01-link-leaf01-spine01-down", "02-link-restored",
                                         "03-spine02-removed", "04-spine02-restored", "05-host-node015-down"));

// A loop, a dead port, a missing entry: what others arrive by is not touched.
TEST(Delays, KeepTheStatusOfWhatDoesNotArrive) {
  for (const auto* odd : {"0x0006 001", "0x0006 009", "0x0006 255", "0x0006 000"}) {
    const auto fabric = load_texts({kSquare, replaced(kSquareTables, "0x0006 003", odd)});
    const auto delays = delays_of(fabric);
    const auto route = trace_route(fabric, fabric.hosts[0].endpoints[0], fabric.hosts[1].endpoints[0]);
    EXPECT_EQ(delays.status(0, 1), route.status) << odd;
    EXPECT_EQ(delays.links(1, 0), 4) << odd;
  }
}

TEST(Delays, AreKeptByPairsOfSwitches) {
  const auto fabric = load_texts({kSquare + "", kSquareTables});
  EXPECT_LE(delays_of(fabric).cells(), 4U);
  // 96 hosts on 12 leaves: a column per leaf, not per host.
  const auto tree = load_folder(FABRIC_DATA "/slurm-tree");
  EXPECT_EQ(delays_of(tree).cells(), 144U);
}

}  // namespace
}  // namespace espalier::fabric
