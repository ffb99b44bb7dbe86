// Machine x mapping x operation -> leaders, held against tables that people have read: tests/snapshots/leaders/*.txt.
// After a change that is meant: ESPALIER_WRITE_GOLDEN=1 test_leaders, then read what git says.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "cluster.hpp"
#include "leaders/direction.hpp"

namespace espalier::leaders {
namespace {

namespace fs = std::filesystem;
using machine::Node;
using plan::Operation;
using topology::Topology;

const fs::path folder = ESPALIER_SNAPSHOTS;

struct Case {
  const char* name;
  Operation operation;
  bool is_last_root;
};

constexpr Case cases[] = {
    {"broadcast from first", Operation::broadcast, false},
    {"broadcast from last", Operation::broadcast, true},
    {"gather to first", Operation::gather, false},
    {"gather to last", Operation::gather, true},
    {"allgather", Operation::allgather, false},
};

void describe(const Node& node, std::ostream& out) {
  out << node.cpus.count() << " processors, " << node.packages.size() << " packages, " << node.numa_nodes.size()
      << " NUMA nodes, " << node.l3_groups.size() << " L3 groups\n";
  for (const machine::Nic& nic : node.nics)
    out << "NIC " << nic.names.front() << " at " << (nic.near.is_empty() ? "?" : nic.near.text()) << ", " << nic.mbits
        << " Mbit/s" << (nic.is_active ? "" : ", down") << '\n';
  out << "in use: " << machine::derive_nics_in_use(node, {}).reason << '\n';
}

std::string leaders_text(const Topology& topology, NodeId node, const Call& call) {
  std::string text;
  for (const auto& leader : derive_leaders(topology, node, call).leaders)
    text += (text.empty() ? "" : " ") + std::to_string(leader.rank.value - topology.ranks_before(node)) +
            (leader.nic < 0 ? "" : "@" + std::to_string(leader.nic));
  return text;
}

// Local ranks of two nodes, the root's first; "@1" is the second NIC.
void list_leaders(const Node& node, std::string_view mapping, int ranks, std::ostream& out) {
  const Topology topology = testing::cluster(node, machine::parse_mapping(mapping), ranks, 2);
  out << '\n' << mapping << ", " << ranks << " ranks per node\n" << std::left;
  for (const Case& it : cases)
    for (const int count : {1, 4}) {
      const Call call{it.operation, Rank(it.is_last_root ? ranks - 1 : 0), Policy::near, count};
      out << "  " << std::setw(22) << it.name << std::setw(23) << leaders_text(topology, NodeId(0), call) << "| "
          << std::setw(22) << leaders_text(topology, NodeId(1), call)
          << derive_leaders(topology, NodeId(1), call).reason << '\n';
    }
}

std::string table_of(const fs::path& machine) {
  const Node node = machine::probe_snapshot(machine);
  std::ostringstream out;
  describe(node, out);
  const int all = node.cpus.count();
  for (const std::string_view mapping : machine::mapping_names())
    list_leaders(node, mapping, mapping == "half" ? all / 2 : all, out);
  return out.str();
}

TEST(Golden, LeadersOfMachinesOneMayNotOwn) {
  int machines = 0;
  for (const auto& entry : fs::directory_iterator(folder / "machines")) {
    const fs::path golden = folder / "leaders" / entry.path().stem().concat(".txt");
    const std::string table = table_of(entry.path());
    if (std::getenv("ESPALIER_WRITE_GOLDEN") != nullptr) std::ofstream(golden) << table;
    std::ostringstream expected;
    expected << std::ifstream(golden).rdbuf();
    EXPECT_EQ(table, expected.str()) << golden;
    ++machines;
  }
  EXPECT_GE(machines, 9);
}

}  // namespace
}  // namespace espalier::leaders
