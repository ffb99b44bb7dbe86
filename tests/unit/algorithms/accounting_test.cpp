// Qian, Rashti and Afsahi's Table 1, counted from our plans: 4 nodes of 4 ranks, messages of M bytes.

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "choice/parse.hpp"
#include "plan/accounting.hpp"

namespace espalier::algorithms {
namespace {

using plan::Accounting;
using plan::Share;
using plan::Stream;

constexpr Bytes M = 1024;

Accounting account(const std::string& choice) {
  std::vector<int> node_of;
  for (int r = 0; r < 16; ++r) node_of.push_back(r / 4);
  const topology::Topology topology = topology::Topology::from_nodes(node_of);
  const plan::Plan plan =
      build_plan(topology, {plan::Operation::allgather, M}, choice::parse_choice(plan::Operation::allgather, choice));
  return plan::account_for(plan, NodeId(1));
}

void expect_connections(const Accounting& account, int in, int out) {
  EXPECT_EQ(account.connections_in, in);
  EXPECT_EQ(account.connections_out, out);
}

void expect_phase(const Accounting& account, std::size_t index, const std::string& name, const Share& writes,
                  const Share& reads) {
  ASSERT_LT(index, account.phases.size());
  EXPECT_EQ(account.phases[index].name, name);
  EXPECT_EQ(account.phases[index].writes, std::vector{writes});
  EXPECT_EQ(account.phases[index].reads, std::vector{reads});
}

TEST(Table1, SingleGroupSingleConnection) {
  const Accounting is = account("single_group_ring");
  expect_connections(is, 1, 1);
  EXPECT_EQ(is.network, (std::vector{Stream{4 * M, 1, 3}}));
  expect_phase(is, 0, "phase 1", {4, M}, {1, 4 * M});
  expect_phase(is, 1, "phase 3", {1, 16 * M}, {4, 16 * M});
  EXPECT_EQ(is.phases.size(), 2u);
}

TEST(Table1, SingleGroupMultiConnection) {
  const Accounting is = account("single_group_direct");
  expect_connections(is, 3, 3);
  EXPECT_EQ(is.network, (std::vector{Stream{4 * M, 3, 1}}));
  expect_phase(is, 0, "phase 1", {4, M}, {1, 4 * M});
  expect_phase(is, 1, "phase 3", {1, 16 * M}, {4, 16 * M});
}

TEST(Table1, GatherBasedFourGroups) {
  const Accounting is = account("gather_based,groups=4");
  expect_connections(is, 3, 3);
  EXPECT_EQ(is.network, (std::vector{Stream{4 * M, 3, 1}}));
  expect_phase(is, 0, "phase 1", {4, M}, {4, 4 * M});
  expect_phase(is, 1, "phase 3", {1, 16 * M}, {4, 16 * M});
}

TEST(Table1, TwoGroups) {
  const Accounting is = account("multi_group,groups=2");
  expect_connections(is, 6, 6);
  EXPECT_EQ(is.network, (std::vector{Stream{2 * M, 6, 1}}));
  expect_phase(is, 0, "phase 1", {4, M}, {2, 2 * M});
  expect_phase(is, 1, "phase 3", {2, 8 * M}, {4, 16 * M});
}

TEST(Table1, FourGroups) {
  const Accounting is = account("multi_group,groups=4");
  expect_connections(is, 12, 12);
  EXPECT_EQ(is.network, (std::vector{Stream{M, 12, 1}}));
  expect_phase(is, 0, "phase 2", {4, 4 * M}, {4, 16 * M});
  EXPECT_EQ(is.phases.size(), 1u);
}

TEST(Table1, TheLeanFormMovesLess) {
  const Accounting is = account("multi_group_lean,groups=2");
  expect_connections(is, 6, 6);
  EXPECT_EQ(is.network, (std::vector{Stream{2 * M, 6, 1}}));
  expect_phase(is, 0, "phase 1", {4, M}, {4, 3 * M});
  ASSERT_EQ(is.phases.size(), 2u);
  EXPECT_EQ(is.phases[1].writes, (std::vector{Share{2, 6 * M}}));
  EXPECT_EQ(is.phases[1].reads, (std::vector{Share{2, 12 * M}, Share{2, 6 * M}}));
}

TEST(Accounting, ACapBoundsWhatIsActive) {
  expect_connections(account("single_group_direct,connections=2"), 3, 2);
  expect_connections(account("multi_group,groups=4,connections=1"), 12, 4);
}

TEST(Accounting, PhasesAreInOrderThoughTheFirstRankHasNothingToGather) {
  const Accounting is = account("multi_group,groups=3");
  ASSERT_EQ(is.phases.size(), 2u);
  EXPECT_EQ(is.phases[0].name, "phase 1");
  EXPECT_EQ(is.phases[1].name, "phase 3");
}

TEST(Accounting, NodesThatDoNotExist) {
  const plan::Plan plan = build_plan(topology::Topology::from_nodes(std::vector{0, 1}), {plan::Operation::allgather, M},
                                     choice::parse_choice(plan::Operation::allgather, "ring"));
  EXPECT_ANY_THROW(plan::account_for(plan, NodeId(2)));
}

}  // namespace
}  // namespace espalier::algorithms
