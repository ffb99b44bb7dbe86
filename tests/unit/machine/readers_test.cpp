#include "machine/readers.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "machine/nics.hpp"
#include "machine/rank_facts.hpp"

namespace espalier::machine {
namespace {

namespace fs = std::filesystem;

const std::string machines = ESPALIER_SNAPSHOTS "/machines/";

TEST(Snapshot, TellsThePapersMachine) {
  const Node node = probe_snapshot(machines + "opteron-4s.xml");
  EXPECT_EQ(node.cpus.text(), "0-7");
  EXPECT_EQ(node.packages.size(), 4U);
  ASSERT_EQ(node.numa_nodes.size(), 4U);
  EXPECT_EQ(node.distances[1], (std::vector<int>{16, 10, 22, 16}));
  EXPECT_TRUE(node.l3_groups.empty());
  ASSERT_EQ(node.nics.size(), 2U);
  EXPECT_EQ(node.nics[0].kind, NicKind::ethernet);
  const Nic& card = node.nics[1];
  EXPECT_EQ(card.names, (std::vector<std::string>{"mlx4_0", "ib0"})) << "one device, the fabric's name first";
  EXPECT_EQ(card.kind, NicKind::fabric);
  EXPECT_EQ(card.bus, "0000:41:00.0");
  EXPECT_EQ(card.near.text(), "2-3");
  EXPECT_EQ(card.mbits, 16000U);
  EXPECT_TRUE(card.is_active);
}

TEST(Snapshot, TellsL3GroupsAndNumaNodesInsidePackages) {
  const Node node = probe_snapshot(machines + "epyc-2s-nps4.xml");
  EXPECT_EQ(node.numa_nodes.size(), 8U);
  EXPECT_EQ(node.l3_groups.size(), 16U);
  EXPECT_EQ(node.distances[0], (std::vector<int>{10, 12, 12, 12, 32, 32, 32, 32}));
  EXPECT_EQ(numa_of(node, node.nics.front().near), 5) << "below its NUMA node, not just its package";
}

TEST(Snapshot, KnowsADeviceWhoseLinkIsDown) {
  const Node node = probe_snapshot(machines + "xeon-2s-1down.xml");
  EXPECT_FALSE(node.nics[0].is_active);
  EXPECT_TRUE(node.nics[1].is_active);
}

TEST(Snapshot, WithoutPciHasNoNics) { EXPECT_TRUE(probe_snapshot(machines + "vm-no-pci.xml").nics.empty()); }

TEST(Snapshot, ThatCannotBeReadIsNamed) {
  EXPECT_THROW(probe_snapshot("/nowhere/machine.xml"), Error);
  const std::string file = testing::TempDir() + "no_machine-" + std::to_string(getpid()) + ".xml";
  std::ofstream(file) << "<html></html>\n";
  EXPECT_THROW(probe_snapshot(file), Error);
  EXPECT_THROW(probe_synthetic("three sockets"), Error);
}

TEST(Snapshot, IsARegularFileAndIsNotWaitedFor) {
  const std::string pipe = testing::TempDir() + "espalier_" + std::to_string(getpid()) + ".xml";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(probe_node(pipe), Error);
  unlink(pipe.c_str());
}

TEST(Synthetic, MachinesHaveNumaNodesAndNoNics) {
  const Node node = probe_node("package:2 numa:2 l3:1 core:4 pu:1");
  EXPECT_EQ(node.numa_nodes.size(), 4U);
  EXPECT_EQ(node.packages.size(), 2U);
  EXPECT_EQ(node.cpus.count(), 16);
  EXPECT_TRUE(node.nics.empty());
}

TEST(Kernel, AgreesWithHwlocAboutThisMachine) {
  const Node kernel = probe_kernel(), hwloc = probe_hwloc();
  ASSERT_EQ(kernel.numa_nodes.size(), hwloc.numa_nodes.size());
  for (std::size_t n = 0; n < kernel.numa_nodes.size(); ++n) {
    EXPECT_EQ(kernel.numa_nodes[n].os_index, hwloc.numa_nodes[n].os_index);
    EXPECT_TRUE(kernel.numa_nodes[n].cpus.is_within(hwloc.numa_nodes[n].cpus)) << "the kernel lists those online";
  }
  EXPECT_EQ(kernel.packages.size(), hwloc.packages.size());
  EXPECT_EQ(kernel.l3_groups.size(), hwloc.l3_groups.size());
  ASSERT_EQ(kernel.nics.size(), hwloc.nics.size());
  for (std::size_t i = 0; i < kernel.nics.size(); ++i) {
    EXPECT_EQ(kernel.nics[i].bus, hwloc.nics[i].bus);
    EXPECT_EQ(kernel.nics[i].names, hwloc.nics[i].names);
    EXPECT_EQ(kernel.nics[i].is_active, hwloc.nics[i].is_active);
  }
}

// A folder that looks like /sys: two NUMA nodes with a third one of memory alone between them, and an InfiniBand card.
class Sysfs : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    write("devices/system/cpu/online", "0-3");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string folder = "devices/system/cpu/cpu" + std::to_string(cpu), half = cpu < 2 ? "0-1" : "2-3";
      write(folder + "/topology/package_cpus_list", half);
      write(folder + "/cache/index0/level", "1");
      write(folder + "/cache/index3/level", "3");
      write(folder + "/cache/index3/shared_cpu_list", half);
    }
    write_numa(0, "0-1", "10 17 21");
    write_numa(1, "", "17 10 28");
    write_numa(2, "2-3", "21 28 10");
    write("devices/pci0000:80/0000:81:00.0/vendor", "0x15b3");
    write("devices/pci0000:80/0000:81:00.0/local_cpulist", "2-3");
    write("devices/pci0000:80/0000:81:00.0/numa_node", "2");
    link("infiniband", "mlx5_0");
    write("devices/pci0000:80/0000:81:00.0/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)");
    write("devices/pci0000:80/0000:81:00.0/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
    link("net", "ib0");
    write("devices/pci0000:80/0000:81:00.0/net/ib0/operstate", "down");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }

  void write_numa(int number, const char* cpus, const char* distances) {
    const std::string folder = "devices/system/node/node" + std::to_string(number);
    write(folder + "/cpulist", cpus);
    write(folder + "/distance", distances);
  }

  // As the kernel does: an entry of the class is a relative link to the device's folder below its PCI function's.
  void link(const std::string& kind, const std::string& name) {
    const fs::path device = fs::path("devices/pci0000:80/0000:81:00.0") / kind / name;
    fs::create_directories(root_ / device);
    fs::create_directories(root_ / "class" / kind);
    fs::create_symlink("../.." / device, root_ / "class" / kind / name);
  }

  fs::path root_ = fs::path(testing::TempDir()) / ("espalier_sysfs-" + std::to_string(getpid()));
};

TEST_F(Sysfs, TellsNumaNodesWithProcessorsAndTheirDistances) {
  const Node node = probe_kernel(root_);
  ASSERT_EQ(node.numa_nodes.size(), 2U);
  EXPECT_EQ(node.numa_nodes[1].os_index, 2);
  EXPECT_EQ(node.distances, (std::vector<std::vector<int>>{{10, 21}, {21, 10}}));
  EXPECT_EQ(node.l3_groups.size(), 2U);
  EXPECT_EQ(node.packages.size(), 2U);
}

TEST_F(Sysfs, TellsACardOnceWithBothItsNames) {
  const Node node = probe_kernel(root_);
  ASSERT_EQ(node.nics.size(), 1U);
  const Nic& nic = node.nics.front();
  EXPECT_EQ(nic.names, (std::vector<std::string>{"mlx5_0", "ib0"}));
  EXPECT_EQ(nic.bus, "0000:81:00.0");
  EXPECT_EQ(nic.mbits, 100000U);
  EXPECT_EQ(nic.near.text(), "2-3");
  EXPECT_TRUE(nic.is_active) << "the port is, although nobody uses IP over it";
}

TEST_F(Sysfs, TellsOnePlaceAsWellWithoutReadingTheWholeNode) {
  const Node whole = probe_kernel(root_);
  const NicsInUse use = derive_nics_in_use(whole, {});
  for (const char* cpus : {"0", "0-1", "3", "1-2", "0-3"}) {
    const CpuSet binding = CpuSet::parse(cpus);
    const Node around = probe_kernel_around(binding, root_);
    EXPECT_EQ(derive_rank_facts(around, derive_nics_in_use(around, {}), binding),
              derive_rank_facts(whole, use, binding))
        << cpus;
  }
  EXPECT_EQ(probe_kernel_around(CpuSet::parse("3"), root_).l3_groups, (std::vector<CpuSet>{CpuSet::parse("2-3")}));
}

TEST_F(Sysfs, LeavesOutInterfacesWithoutADevice) {
  fs::create_directories(root_ / "devices/virtual/net/docker0");
  fs::create_symlink("../../devices/virtual/net/docker0", root_ / "class/net/docker0");
  EXPECT_EQ(probe_kernel(root_).nics.size(), 1U);
}

TEST_F(Sysfs, BelievesNoPlaceThatFirmwareDoesNotTell) {
  write("devices/pci0000:80/0000:81:00.0/local_cpulist", "0-3");
  write("devices/pci0000:80/0000:81:00.0/numa_node", "-1");
  EXPECT_TRUE(probe_kernel(root_).nics.front().near.is_empty());
}

TEST_F(Sysfs, SurvivesRubbish) {
  write("devices/system/node/node0/distance", "what?");
  write("devices/system/node/nodes/cpulist", "0");
  write("devices/system/cpu/cpu0/cache/index3/shared_cpu_list", "everyone");
  write("devices/pci0000:80/0000:81:00.0/infiniband/mlx5_0/ports/1/rate", "fast");
  const Node node = probe_kernel(root_);
  EXPECT_EQ(node.numa_nodes.size(), 2U);
  EXPECT_EQ(node.distances[0][1], 20) << "assumed";
  EXPECT_EQ(node.nics.front().mbits, 0U);
  fs::remove_all(root_ / "devices/system/cpu");
  EXPECT_THROW(probe_kernel(root_), Error);
}

}  // namespace
}  // namespace espalier::machine
