#include "fabric/classes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "base/error.hpp"
#include "fabric/captures.hpp"

namespace espalier::fabric {
namespace {

/// Every pair by its classes is what Delays says of it.
void expect_exact(const Fabric& fabric) {
  const auto delays = delays_of(fabric);
  const auto table = LatencyTable::ranger();
  const auto found = derive_class_delays(delays, table);
  ASSERT_EQ(found.class_of.size(), delays.hosts());
  for (std::size_t from = 0; from < delays.hosts(); ++from)
    for (std::size_t to = 0; to < delays.hosts(); ++to) {
      if (from == to) continue;
      const auto& way =
          found.way(static_cast<std::size_t>(found.class_of[from]), static_cast<std::size_t>(found.class_of[to]));
      EXPECT_EQ(way.latency, delays.delay(from, to, {Metric::latency, 0, table}));
      EXPECT_EQ(way.per_byte, delays.delay(from, to, {Metric::speed, 0, {}}));
    }
}

ClassDelays read_back(const std::string& reply, std::size_t hosts) {
  ClassReader reader(hosts);
  std::string_view rest = reply;
  for (bool goes_on = true; goes_on;) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    goes_on = reader.take_line(line);
  }
  EXPECT_TRUE(rest.empty()) << "the reply has lines that nobody reads";
  return reader.take();
}

TEST(Classes, ChangeNoDelayOfAnyPair) {
  for (const auto* capture : {"/s16/00-baseline", "/s16/01-link-leaf01-spine01-down", "/s16/05-host-node015-down"})
    expect_exact(load_capture(std::string(FABRIC_DATA) + capture));
  expect_exact(load_texts({kSquare, kSquareTables}));
  expect_exact(load_texts({kSquare}));
}

TEST(Classes, OfARegularTreeAreItsLeaves) {
  const auto delays = delays_of(load_folder(FABRIC_DATA "/slurm-tree"));
  const auto found = derive_class_delays(delays, LatencyTable::ranger());
  EXPECT_EQ(delays.hosts(), 96U);
  EXPECT_EQ(found.classes, 12U);
  EXPECT_LE(found.ways.size(), 4U);
}

TEST(Classes, KnowWhatTheCablesOfASwitchCarryTogether) {
  const auto fabric = load_folder(FABRIC_DATA "/s16/00-baseline");
  const auto found = derive_class_delays(delays_of(fabric), LatencyTable::ranger());
  const auto first = static_cast<std::size_t>(found.class_of[0]);
  const auto* cable = fabric.cable(fabric.hosts[0].endpoints[0].node, fabric.hosts[0].endpoints[0].port);
  double gbps = 0;
  for (const auto& port : fabric.node(cable->peer).ports)
    if (port.peer != kNoNode && fabric.node(port.peer).is_switch()) gbps += port.rate.gbps();
  EXPECT_DOUBLE_EQ(found.trunk[first], 1 / (gbps * 125));
}

TEST(Classes, AreWrittenAndReadBack) {
  const auto delays = delays_of(load_folder(FABRIC_DATA "/s16/00-baseline"));
  const auto written = derive_class_delays(delays, LatencyTable::ranger());
  std::string reply;
  append_classes(written, reply);
  EXPECT_EQ(read_back(reply, delays.hosts()), written);
}

TEST(Classes, OfAPairWithoutARouteAreInfinitelyFarApart) {
  const auto fabric = load_texts({kSquare, replaced(kSquareTables, "0x0006 003", "0x0006 009")});
  std::string reply;
  append_classes(derive_class_delays(delays_of(fabric), LatencyTable::ranger()), reply);
  const auto found = read_back(reply, 2);
  EXPECT_TRUE(std::isinf(found.way(0, 1).latency));
  EXPECT_FALSE(std::isinf(found.way(1, 0).latency));
}

TEST(Classes, ThatAreNoneAreRefusedAtTheFirstOddLine) {
  const std::string good = "classes 6 2 2 1\n0 1\n0 1\n0 0.5\n1.5 0.25\n0 0\n0 0\n";
  EXPECT_EQ(read_back(good, 2).ways.front(), (ClassDelays::Way{1.5, 0.25}));
  const std::array<std::pair<const char*, const char*>, 14> faults = {{
      {"classes 6 2 2 1", "matrix 6 2 2 1"},
      {"classes 6 2 2 1", "classes 6 3 2 1"},
      {"classes 6 2 2 1", "classes 7 2 2 1"},
      {"classes 6 2 2 1", "classes 6 2 2 1 1"},
      {"classes 6 2 2 1", "classes 8 2 4 1"},
      {"classes 6 2 2 1", "classes 4 2 0 1"},
      {"classes 6 2 2 1", "classes 10 2 2 5"},
      {"1\n0 1\n0 1", "1\n0 2\n0 1"},
      {"1\n0 1\n0 1", "1\n0\n0 1"},
      {"1\n0 1\n0 1", "1\n0 1\n0 1 1"},
      {"0 0.5", "0 inf"},
      {"1.5 0.25", "1.5 nan"},
      {"1.5 0.25", "1.5 -1"},
      {"0 0\n0 0\n", "0 0\n0 1\n"},
  }};
  for (const auto& [part, odd] : faults) EXPECT_THROW(read_back(replaced(good, part, odd), 2), Error) << odd;
}

}  // namespace
}  // namespace espalier::fabric
