#include "fabric/routes.hpp"

#include <gtest/gtest.h>

#include "fabric/texts.hpp"

namespace espalier::fabric {
namespace {

TEST(Routes, FollowTheTablesNotTheShortestGuess) {
  const auto fabric = load_texts({kSquare, kSquareTables});
  EXPECT_EQ(fabric.basis, Basis::tables);
  const auto there = route_between(fabric, "a", "b"), back = route_between(fabric, "b", "a");
  EXPECT_EQ(format_hops(fabric, there), "0x00000000000000a1[1>3] 0x00000000000000b2[1>2] 0x00000000000000a2[3>1]");
  EXPECT_EQ(format_hops(fabric, back), "0x00000000000000a2[1>2] 0x00000000000000b1[2>1] 0x00000000000000a1[2>1]");
  EXPECT_EQ(there.links(), 4);
  EXPECT_EQ(find_bottleneck(fabric, there).text(), "4xDDR");
  EXPECT_EQ(find_bottleneck(fabric, back).text(), "4xQDR");
}

TEST(Routes, WithoutTablesTheyAreShortestOnesAndSaySo) {
  const auto fabric = load_texts({kSquare});
  const auto [from, to] = fabric.find_pair("a", "b");
  EXPECT_EQ(trace_route(fabric, from, to).basis, Basis::shortest);
  const auto all = find_shortest_routes(fabric, from, to);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(format_hops(fabric, all[0]), "0x00000000000000a1[1>2] 0x00000000000000b1[1>2] 0x00000000000000a2[2>1]");
  EXPECT_EQ(trace_route(fabric, from, to).hops, all[0].hops);
  EXPECT_EQ(find_shortest_routes(fabric, from, to, 1).size(), 1U);
}

struct Fault {
  const char* sentence;
  std::string wiring, tables;
  RouteStatus status;
};

TEST(Routes, EachFaultHasItsOwnName) {
  const auto loop = replaced(kSquareTables, "b2 (x):\n  Lid  Out   Destination\n0x0005 001\n0x0006 002",
                             "b2 (x):\n  Lid  Out   Destination\n0x0005 001\n0x0006 001");
  const auto first = [](const std::string& entry) {
    return replaced(kSquareTables, "0x0005 001\n0x0006 003", "0x0005 001\n" + entry);
  };
  const Fault faults[] = {
      {"comes back", kSquare, loop, RouteStatus::loop},
      {"illegal port", kSquare, first("0x0006 255"), RouteStatus::no_entry},
      {"no line for the LID", kSquare, first("0x0004 002"), RouteStatus::no_entry},
      {"nothing cabled there", kSquare, first("0x0006 009"), RouteStatus::port_down},
      {"kept by the switch", kSquare, first("0x0006 000"), RouteStatus::wrong_end},
      {"no table of that switch", kSquare,
       replaced(kSquareTables, "guid 0x00000000000000b2", "guid 0x00000000000000a1"), RouteStatus::no_entry},
      {"a table of a switch that is gone", kSquare,
       first("0x0006 009") + table_of("00000000000000b9", "0x0005 001\n", 1), RouteStatus::stale_table},
      {"a LID that was another's", kSquare,
       replaced(kSquareTables, "0x0006 003\n", "0x0006 003 : (Channel Adapter portguid 0x00000000000000ee: 'z')\n"),
       RouteStatus::stale_table},
  };
  for (const auto& fault : faults) {
    const auto fabric = load_texts({fault.wiring, fault.tables});
    const auto route = route_between(fabric, "a", "b");
    EXPECT_EQ(name_of(route.status), name_of(fault.status)) << fault.sentence;
    EXPECT_EQ(route.links(), -1);
    EXPECT_FALSE(explain(fabric, route).empty());
  }
}

TEST(Routes, AnotherHostAtTheEndIsNoSuccess) {
  // Leaf 1 sends b's packets straight to a third host beside a.
  auto wiring = replaced(kSquare, "[2]\t\"S-00000000000000b1\"[1]\t\t# \"s1\" lid 3 4xQDR\n",
                         "[2]\t\"S-00000000000000b1\"[1]\t\t# \"s1\" lid 3 4xQDR\n"
                         "[4]\t\"H-00000000000000c3\"[1](d3) \t\t# \"c HCA-1\" lid 7 4xQDR\n");
  wiring +=
      "\nCa\t1 \"H-00000000000000c3\"\t\t# \"c HCA-1\"\n[1](d3) \t\"S-00000000000000a1\"[4]\t\t# lid 7 lmc 0 \"l1\" "
      "lid 1 4xQDR\n";
  const auto fabric = load_texts({wiring, replaced(kSquareTables, "0x0006 003", "0x0006 004")});
  EXPECT_EQ(route_between(fabric, "a", "b").status, RouteStatus::wrong_end);
}

TEST(Routes, OneselfIsNoLinkAway) {
  const auto fabric = load_texts({kSquare, kSquareTables});
  const auto route = route_between(fabric, "a", "a");
  EXPECT_EQ(route.status, RouteStatus::self);
  EXPECT_EQ(route.links(), 0);
}

TEST(Routes, HostsAreFoundByNamePortDeviceAndGuid) {
  const auto fabric = load_texts({kSquare});
  const auto a = fabric.find_endpoint("a");
  for (const auto* text : {"a/1", "a/HCA-1", "0xc1", "0xd1", "0x00000000000000d1"})
    EXPECT_EQ(fabric.find_endpoint(text), a) << text;
  for (const auto* text : {"z", "a/2", "0xee", "0xa1", "", "/", "0x", "a/"})
    EXPECT_THROW(fabric.find_endpoint(text), FabricError) << text;
}

std::string renamed(std::string text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST(Hosts, AnswerToTheirNamesWithoutADomainWhereThatIsNobodyElse) {
  const auto one =
      load_texts({renamed(renamed(kSquare, "\"a HCA-1\"", "\"a.x HCA-1\""), "\"b HCA-1\"", "\"b.x HCA-1\"")});
  EXPECT_EQ(one.find_endpoint("a"), one.find_endpoint("a.x"));
  const auto two =
      load_texts({renamed(renamed(kSquare, "\"a HCA-1\"", "\"a.x HCA-1\""), "\"b HCA-1\"", "\"a.y HCA-1\"")});
  EXPECT_THROW(two.find_endpoint("a"), FabricError) << "two of them";
  const auto number = load_texts({renamed(kSquare, "\"a HCA-1\"", "\"10.0.0.1 HCA-1\"")});
  EXPECT_THROW(number.find_endpoint("10"), FabricError) << "an address";
}

}  // namespace
}  // namespace espalier::fabric
