#include "machine/nics.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "machine/readers.hpp"

namespace espalier::machine {
namespace {

Node two_cards() { return probe_snapshot(ESPALIER_SNAPSHOTS "/machines/xeon-2s-2nic.xml"); }

std::string use(const Node& node, const std::vector<NicHint>& hints) {
  std::string names;
  for (const int i : derive_nics_in_use(node, hints).nics)
    names += node.nics[static_cast<std::size_t>(i)].names.front() + ' ';
  return names;
}

TEST(NicsInUse, AreTheFastestFabricDevicesByThemselves) {
  EXPECT_EQ(use(two_cards(), {}), "mlx5_0 mlx5_1 ");
  EXPECT_EQ(derive_nics_in_use(two_cards(), {}).reason, "mlx5_0, mlx5_1: the fastest that is up");
}

TEST(NicsInUse, LeaveOutLinksThatAreDown) {
  EXPECT_EQ(use(probe_snapshot(ESPALIER_SNAPSHOTS "/machines/xeon-2s-1down.xml"), {}), "mlx5_1 ");
}

TEST(NicsInUse, AreNoneWithoutDevices) {
  const NicsInUse none = derive_nics_in_use(probe_synthetic("package:1 core:2 pu:1"), {});
  EXPECT_TRUE(none.nics.empty());
  EXPECT_EQ(none.reason, "no network device is up");
}

TEST(NicsInUse, FollowTheFirstHintThatNamesOne) {
  const Node node = two_cards();
  EXPECT_EQ(use(node, {{"ESPALIER_NIC", "mlx5_1"}, {"UCX_NET_DEVICES", "mlx5_0:1"}}), "mlx5_1 ");
  EXPECT_EQ(use(node, {{"UCX_NET_DEVICES", "mlx5_0:1"}}), "mlx5_0 ") << "with a port";
  EXPECT_EQ(use(node, {{"FI_TCP_IFACE", "ib1"}}), "mlx5_1 ") << "by the interface's name";
  EXPECT_EQ(use(node, {{"UCX_NET_DEVICES", "all"}, {"FI_TCP_IFACE", "eno1"}}), "eno1 ");
  EXPECT_EQ(use(node, {{"OMPI_MCA_btl_tcp_if_include", "10.0.0.0/8"}}), "mlx5_0 mlx5_1 ") << "addresses say nothing";
}

TEST(NicsInUse, CanBeExcluded) {
  EXPECT_EQ(use(two_cards(), {{"UCX_NET_DEVICES", "^mlx5_0:1,eno1"}}), "mlx5_1 ");
  EXPECT_EQ(use(two_cards(), {{"UCX_NET_DEVICES", "^mlx5_0:1"}}), "mlx5_1 ") << "not the slow one that is left";
}

TEST(NicsInUse, AreNeverMoreThanOneCanTellOthers) {
  Node node = two_cards();
  for (int i = 0; i < 20; ++i) {
    Nic nic = node.nics.back();
    nic.names = {"mlx5_" + std::to_string(10 + i)};
    node.nics.push_back(nic);
  }
  EXPECT_EQ(derive_nics_in_use(node, {}).nics.size(), static_cast<std::size_t>(most_nics));
}

TEST(NicHints, ComeFromTheSettingFirst) {
  setenv("UCX_NET_DEVICES", "mlx5_7:1", 1);
  const std::vector<NicHint> hints = probe_nic_hints("ib0");
  unsetenv("UCX_NET_DEVICES");
  ASSERT_GE(hints.size(), 2U);
  EXPECT_EQ(hints[0].value, "ib0");
  EXPECT_EQ(hints[1].name, "UCX_NET_DEVICES");
}

}  // namespace
}  // namespace espalier::machine
