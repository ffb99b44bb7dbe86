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
  EXPECT_EQ(use(two_cards(), {{"OMPI_MCA_btl_tcp_if_exclude", "^lo,docker0"}}), "mlx5_0 mlx5_1 ");
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

/// A variable of some transport, as a user would set it, and the cards it leaves in use.
struct Told {
  const char* name;
  const char* value;
  const char* nics;
};

class ToldByATransport : public ::testing::TestWithParam<Told> {};

TEST_P(ToldByATransport, IsFollowed) {
  ASSERT_EQ(getenv(GetParam().name), nullptr) << "unset it to run this test";
  setenv(GetParam().name, GetParam().value, 1);
  const NicsInUse in_use = derive_nics_in_use(two_cards(), probe_nic_hints(""));
  unsetenv(GetParam().name);
  std::string names;
  for (const int i : in_use.nics) names += two_cards().nics[static_cast<std::size_t>(i)].names.front() + ' ';
  EXPECT_EQ(names, GetParam().nics);
  EXPECT_NE(in_use.reason.find(GetParam().name), std::string::npos) << in_use.reason;
}

constexpr Told told[] = {
    {"UCX_NET_DEVICES", "mlx5_1:1", "mlx5_1 "},
    {"UCX_NET_DEVICES", "^mlx5_1:1", "mlx5_0 "},
    {"FI_CXI_DEVICE_NAME", "mlx5_1", "mlx5_1 "},
    {"FI_VERBS_DEVICE_NAME", "mlx5_1", "mlx5_1 "},
    {"FI_VERBS_IFACE", "ib1", "mlx5_1 "},
    {"FI_EFA_IFACE", "mlx5_0,mlx5_1", "mlx5_0 mlx5_1 "},
    {"FI_MLX_DEVICES", "mlx5_1:1", "mlx5_1 "},
    {"PSM3_NIC", "mlx5_1", "mlx5_1 "},
    {"I_MPI_OFA_ADAPTER_NAME", "mlx5_1", "mlx5_1 "},
    {"MV2_IBA_HCA", "mlx5_0:mlx5_1", "mlx5_0 mlx5_1 "},
    {"OMPI_MCA_btl_openib_if_include", "mlx5_1:1", "mlx5_1 "},
    {"OMPI_MCA_btl_openib_if_exclude", "mlx5_1", "mlx5_0 "},
    {"FI_TCP_IFACE", "eno1", "eno1 "},
    {"FI_SOCKETS_IFACE", "ib0", "mlx5_0 "},
    {"I_MPI_TCP_NETMASK", "eno1", "eno1 "},
    {"OMPI_MCA_btl_tcp_if_include", "ib0,ib1", "mlx5_0 mlx5_1 "},
    {"OMPI_MCA_btl_tcp_if_exclude", "ib0,lo", "mlx5_1 "},
};

INSTANTIATE_TEST_SUITE_P(OfEveryTransport, ToldByATransport, ::testing::ValuesIn(told),
                         [](const auto& info) { return info.param.name + std::to_string(info.index); });

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
