#include "fabric/dumps/readers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "fabric/texts.hpp"

namespace espalier::fabric {
namespace {

const std::string kBaseline = FABRIC_DATA "/s16/00-baseline/";

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// "src dst status links hops" of every pair.
std::set<std::string> all_routes(const Fabric& fabric) {
  std::set<std::string> lines;
  for (const auto& from : fabric.hosts)
    for (const auto& to : fabric.hosts)
      if (from.name != to.name) {
        const auto route = route_between(fabric, from.name, to.name);
        lines.insert(from.name + " " + to.name + " " + std::string(name_of(route.status)) + " " +
                     std::to_string(route.links()) + " " + format_hops(fabric, route));
      }
  return lines;
}

// The capture's independent answers, which name each link's speed too.
std::set<std::string> expected_routes() {
  std::set<std::string> lines;
  std::istringstream in(read(kBaseline + "expected-routes.tsv"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string from, to, from_lid, to_lid, status, links, hop, hops;
    fields >> from >> to >> from_lid >> to_lid >> status >> links;
    while (fields >> hop) hops += (hops.empty() ? "" : " ") + hop.substr(0, hop.find(',')) + "]";
    lines.insert(from + " " + to + " " + status + " " + links + " " + hops);
  }
  return lines;
}

TEST(Readers, EveryWiringWithEveryTableGivesTheRoutesOfTheCapture) {
  const auto expected = expected_routes();
  ASSERT_EQ(expected.size(), 240U);
  for (const auto* wiring :
       {"ibnetdiscover.txt", "ibnetdiscover-p.txt", "opensm-subnet.lst", "iblinkinfo.txt", "iblinkinfo-line.txt"})
    for (const auto* tables : {"dump_fts.txt", "opensm-lfts.dump", "opensm.fdbs"}) {
      const auto fabric = load_texts({read(kBaseline + wiring), read(kBaseline + tables)});
      EXPECT_EQ(all_routes(fabric), expected) << wiring << " with " << tables;
      EXPECT_TRUE(fabric.findings.empty()) << wiring << " with " << tables << ": " << fabric.findings.front().text;
      EXPECT_EQ(find_bottleneck(fabric, route_between(fabric, "node001", "node005")).text(), "4xDDR") << wiring;
    }
}

TEST(Readers, AFolderIsReadByItsRichestFiles) {
  const auto fabric = load_folder(kBaseline);
  EXPECT_EQ(all_routes(fabric), expected_routes());
  EXPECT_EQ(fabric.parts, 1);
}

TEST(Readers, AFolderWithoutItsPackedFilesIsNoFabric) {
  namespace fs = std::filesystem;
  const auto folder = fs::path(testing::TempDir()) / ("espalier-packed-" + std::to_string(getpid()));
  fs::remove_all(folder);
  fs::create_directory(folder);
  fs::copy_file(kBaseline + "ibnetdiscover.txt", folder / "ibnetdiscover.txt");
  fs::create_symlink("nowhere", folder / "dangling");
  EXPECT_EQ(load_folder(folder).basis, Basis::shortest);
  std::ofstream(folder / "dump_fts.txt.gz") << "\x1f\x8b\x08";
  EXPECT_THROW(load_folder(folder), FabricError) << "the tables may be in it";
  fs::copy_file(kBaseline + "dump_fts.txt", folder / "dump_fts.txt");
  EXPECT_EQ(load_folder(folder).basis, Basis::tables);
  fs::remove_all(folder);
}

TEST(Readers, FormatsAreToldApartByContent) {
  const std::pair<const char*, Format> files[] = {{"ibnetdiscover.txt", Format::ibnetdiscover},
                                                  {"ibnetdiscover-p.txt", Format::port_list},
                                                  {"opensm-subnet.lst", Format::opensm_subnet},
                                                  {"iblinkinfo.txt", Format::link_info},
                                                  {"iblinkinfo-line.txt", Format::link_info_lines},
                                                  {"dump_fts.txt", Format::tables},
                                                  {"opensm-lfts.dump", Format::opensm_tables},
                                                  {"opensm.fdbs", Format::opensm_routes},
                                                  {"guid2lid", Format::unknown},
                                                  {"expected-routes.tsv", Format::unknown}};
  for (const auto& [file, format] : files) EXPECT_EQ(detect_format(read(kBaseline + file)), format) << file;
  EXPECT_EQ(detect_format(""), Format::empty);
  EXPECT_EQ(detect_format("\n\n"), Format::empty);
  EXPECT_EQ(detect_format("\x1f\x8b\x08"), Format::compressed);
}

Fault fault_of(std::initializer_list<std::string> texts) {
  try {
    load_texts(texts);
  } catch (const FabricError& error) {
    return error.fault();
  }
  ADD_FAILURE() << "nothing was rejected";
  return Fault::unreadable;
}

bool has(const Fabric& fabric, FindingKind kind) {
  for (const auto& finding : fabric.findings)
    if (finding.kind == kind) return true;
  return false;
}

TEST(Readers, HalfADumpIsRejectedWhereverItIsCut) {
  const auto text = read(kBaseline + "ibnetdiscover.txt");
  // Up to the last node's last line every cut loses a node or a cable.
  const auto last = text.rfind("\n[1](");
  for (std::size_t cut = text.find("\nSwitch") + 1; cut < last; cut += 97)
    EXPECT_THROW(load_texts({text.substr(0, cut)}), FabricError) << cut;
}

// Between two lines, too: whoever reads it is told.
TEST(Readers, EveryOtherKindOfDumpShowsWhereItIsCut) {
  const auto tables = read(kBaseline + "dump_fts.txt");
  for (const auto* name :
       {"ibnetdiscover.txt", "ibnetdiscover-p.txt", "opensm-subnet.lst", "iblinkinfo.txt", "iblinkinfo-line.txt"}) {
    const auto text = read(kBaseline + name);
    // The last line of all is a cable in each of them. With both lines of a cable -p loses a host without a trace.
    const auto last_pair = text.find("\nSW     3  1 0x0002c90200400010 4x SDR");
    for (auto cut = text.find('\n', 700); cut < text.find_last_not_of(" \n"); cut = text.find('\n', cut + 1)) {
      if (cut == last_pair) continue;
      try {
        const auto fabric = load_texts({text.substr(0, cut + 1), tables});
        EXPECT_TRUE(has(fabric, FindingKind::asymmetric_link)) << name << " up to " << cut;
      } catch (const FabricError&) {
      }
    }
  }
  const auto wiring = read(kBaseline + "ibnetdiscover.txt"), routes = read(kBaseline + "opensm.fdbs");
  const auto last_entry = routes.rfind("\n0x");
  for (auto cut = routes.find('\n', routes.rfind("Switch")); cut < last_entry; cut = routes.find('\n', cut + 1))
    EXPECT_TRUE(has(load_texts({wiring, routes.substr(0, cut + 1)}), FindingKind::truncated_table)) << cut;
}

TEST(Readers, NumbersThatCannotBeAreRejectedWithTheirLine) {
  EXPECT_EQ(fault_of({replaced(kSquare, "lid 3 ", "lid 99999999999999999999 ")}), Fault::bad_number);
  EXPECT_EQ(fault_of({replaced(kSquare, "lid 3 ", "lid 50000 ")}), Fault::bad_number);
  EXPECT_EQ(fault_of({replaced(kSquare, "[2]\t", "[-2]\t")}), Fault::bad_number);
  EXPECT_EQ(fault_of({replaced(kSquare, "[2]\t", "[255]\t")}), Fault::bad_number);
  EXPECT_EQ(fault_of({replaced(kSquare, "lmc 0 \"l1\"", "lmc 8 \"l1\"")}), Fault::bad_number);
  EXPECT_EQ(fault_of({kSquare, replaced(kSquareTables, "0x0005 001", "0xffff 001")}), Fault::bad_number);
  EXPECT_EQ(fault_of({kSquare, replaced(kSquareTables, "0x0005 001", "0x0005 999")}), Fault::bad_number);
  try {
    load_texts({replaced(kSquare, "[3]\t\"S-00000000000000b2\"[2]", "[3]\t\"S-00000000000000b2\"[999]")});
  } catch (const FabricError& error) {
    EXPECT_NE(std::string(error.what()).find("text0:10: bad-number"), std::string::npos) << error.what();
  }
}

TEST(Readers, FilesWithoutWiringAreNoFabric) {
  EXPECT_EQ(fault_of({kSquareTables}), Fault::no_wiring);
  EXPECT_EQ(fault_of({"# Topology file: generated on a quiet day\n"}), Fault::empty);
}

TEST(Readers, WhatIsOddIsFoundAndTheRestStillAnswers) {
  EXPECT_TRUE(load_texts({kSquare, kSquareTables}).findings.empty());
  EXPECT_TRUE(has(load_texts({kSquare + switch_head("00000000000000a1", "evil", 1)}), FindingKind::duplicate_guid));
  EXPECT_TRUE(has(load_texts({replaced(kSquare, "lid 6 ", "lid 5 ")}), FindingKind::duplicate_lid));
  EXPECT_TRUE(has(load_texts({replaced(kSquare, "\"b HCA-1\"", "\"a HCA-1\"")}), FindingKind::ambiguous_name));
  EXPECT_TRUE(has(load_texts({replaced(kSquare, "\"S-00000000000000b1\"[1]", "\"S-00000000000000b1\"[2]")}),
                  FindingKind::asymmetric_link));
  EXPECT_TRUE(has(load_texts({replaced(kSquare, "4xDDR", "4xZDR")}), FindingKind::unknown_speed));
  EXPECT_TRUE(has(load_texts({kSquare, table_of("00000000000000a1", "0x0005 001\n", 1)}), FindingKind::missing_table));
  EXPECT_TRUE(has(load_texts({kSquare, replaced(kSquareTables, "2 valid", "3 valid")}), FindingKind::truncated_table));
  EXPECT_TRUE(has(load_texts({kSquare, kSquareTables + table_of("00000000000000a1", "0x0005 002\n", 1)}),
                  FindingKind::conflicting_table));
}

TEST(Readers, TablesOfOpensmMayLeaveLidsOut) {
  const std::string table =
      "Unicast lids [0-6] of switch Lid 1 guid 0x00000000000000a1 ('l1'):\n"
      "0x0005 001 # Channel Adapter portguid 0x00000000000000d1: 'a HCA-1'\n"
      "0x0006 003 # Channel Adapter portguid 0x00000000000000d2: 'b HCA-1'\n";
  EXPECT_FALSE(has(load_texts({kSquare, table + "6 lids dumped\n"}), FindingKind::truncated_table));
  EXPECT_TRUE(has(load_texts({kSquare, table}), FindingKind::truncated_table));
}

TEST(Readers, HostsOfOneNameAreAllThere) {
  const auto fabric = load_texts({replaced(kSquare, "\"b HCA-1\"", "\"a HCA-1\"")});
  ASSERT_EQ(fabric.hosts.size(), 2U);
  EXPECT_EQ(fabric.hosts[0].name, "0x00000000000000c2");
  EXPECT_EQ(fabric.hosts[1].name, "a");
  EXPECT_EQ(fabric.node(fabric.find_endpoint("a").node).guid, Guid{0xc1});
}

TEST(Readers, AggregationNodesAreNoHosts) {
  const auto fabric = load_texts({replaced(kSquare, "\"b HCA-1\"", "\"Mellanox Technologies Aggregation Node\"")});
  ASSERT_EQ(fabric.hosts.size(), 1U);
  EXPECT_EQ(fabric.hosts[0].name, "a");
}

TEST(Readers, MessagesOfTheToolsAreNoRecords) {
  const std::string noise = "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1 Attr 0x11:0) bad status 110\n";
  const auto fabric = load_texts({noise + kSquare, "ibwarn: [1] mad_rpc: failed\n" + kSquareTables});
  EXPECT_EQ(route_between(fabric, "a", "b").links(), 4);
}

TEST(Readers, BlocksOfSlurmJoinBySize) {
  const auto fabric =
      load_texts({"BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\n"
                  "BlockName=b4 Nodes=n[7-8]\nBlockSizes=2,4\n"});
  EXPECT_EQ(fabric.basis, Basis::tree);
  EXPECT_EQ(route_between(fabric, "n1", "n2").links(), 2);
  EXPECT_EQ(route_between(fabric, "n1", "n3").links(), 4);
  EXPECT_EQ(route_between(fabric, "n1", "n5").links(), 6);
}

TEST(Readers, YamlGivesItsDefaultTopology) {
  const std::string text =
      "---\n# two of them\n- topology: flat\n  cluster_default: false\n  flat: true\n- topology: tree\n"
      "  cluster_default: true\n  tree:\n    switches:\n      - switch: root\n        children: s[1-2]\n"
      "      - switch: s1\n        nodes: \"node[01-02]\"\n      - switch: s2\n        nodes: node[03-04]\n";
  const auto fabric = load_texts({text});
  EXPECT_EQ(fabric.hosts.size(), 4U);
  EXPECT_EQ(route_between(fabric, "node01", "node02").links(), 2);
  EXPECT_EQ(route_between(fabric, "node01", "node04").links(), 4);
  const auto blocks =
      load_texts({"- topology: b\n  block:\n    block_sizes:\n      - 2\n      - 4\n    blocks:\n      - block: b1\n   "
                  "     nodes: n[1-2]\n"
                  "      - block: b2\n        nodes: n[3-4]\n"});
  EXPECT_EQ(route_between(blocks, "n1", "n4").links(), 4);
}

TEST(Readers, SlurmsFilesThatLeaveHostsOutAreRejected) {
  EXPECT_EQ(fault_of({"SwitchName=s0 Switches=s[1-2]\nSwitchName=s1 Nodes=n[1-4]\n"}), Fault::truncated);
  EXPECT_EQ(fault_of({"SwitchName=s0 Switches=s1\nSwitchName=s1 Switches=s0\n"}), Fault::empty);
  const std::string start = "- topology: t\n  tree:\n    switches:\n      - switch: s1\n        nodes: n[1-2]\n";
  EXPECT_EQ(load_texts({start}).hosts.size(), 2U);
  EXPECT_EQ(fault_of({start + "      - {switch: s2, nodes: \"n[3-4]\"}\n"}), Fault::bad_record);
  EXPECT_EQ(fault_of({start + "      - switch: s2\n        nodes: [n3, n4]\n"}), Fault::bad_record);
}

TEST(Readers, TwoSubnetsWithTheSameLidsStayApart) {
  // The second rail: other GUIDs, the hosts' second adapters, LIDs and tables as in the first.
  auto second = kSquare;
  for (const auto& [from, to] : {std::pair{"00000000000000", "00000000000001"}, {"(d", "(1d"}, {"HCA-1", "HCA-2"}})
    second = replaced(second, from, to);
  const auto fabric =
      load_texts({kSquare, second, kSquareTables, replaced(kSquareTables, "00000000000000", "00000000000001")});
  EXPECT_EQ(fabric.parts, 2);
  ASSERT_EQ(fabric.hosts.size(), 2U);
  EXPECT_EQ(fabric.hosts[0].endpoints.size(), 2U);
  for (const auto& finding : fabric.findings) EXPECT_EQ(finding.kind, FindingKind::separate_parts) << finding.text;
  EXPECT_EQ(route_between(fabric, "a", "b").links(), 4);
  const auto other = route_between(fabric, "a/HCA-2", "b");
  EXPECT_EQ(format_hops(fabric, other), "0x00000000000001a1[1>3] 0x00000000000001b2[1>2] 0x00000000000001a2[3>1]");
}

TEST(Readers, HostsOfSeveralRailsStandInTheSameOne) {
  // b's adapter of the second rail has the lowest GUID of all.
  auto second = kSquare;
  for (const auto& [from, to] : {std::pair{"00000000000000", "00000000000001"}, {"(d", "(1d"}, {"HCA-1", "HCA-2"}})
    second = replaced(second, from, to);
  const auto fabric = load_texts({kSquare, replaced(second, "00000000000001c2", "0000000000000002")});
  ASSERT_EQ(fabric.hosts.size(), 2U);
  for (const auto& host : fabric.hosts) EXPECT_EQ(fabric.node(host.endpoints.front().node).part, 0) << host.name;
}

TEST(Readers, PieceSizesDoNotShow) {
  const auto wiring = read(kBaseline + "ibnetdiscover.txt");
  for (const std::size_t piece : {1, 7, 1000}) {
    Loader loader;
    loader.open("pieces", Format::ibnetdiscover);
    for (std::size_t at = 0; at < wiring.size(); at += piece) loader.feed(std::string_view(wiring).substr(at, piece));
    loader.close();
    EXPECT_EQ(loader.finish().hosts.size(), 16U);
  }
}

}  // namespace
}  // namespace espalier::fabric
