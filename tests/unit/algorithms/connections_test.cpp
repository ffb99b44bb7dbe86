// What the programs of groups of masters do with connections: who is whose target when, and from which memory.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "base/error.hpp"
#include "choice/parse.hpp"
#include "plan/accounting.hpp"
#include "plan/traffic.hpp"

namespace espalier::algorithms {
namespace {

using plan::Buffer;
using plan::Op;
using plan::Operation;
using plan::Plan;
using plan::Step;

topology::Topology blocks(int nodes, int ranks) {
  std::vector<int> node_of;
  for (int r = 0; r < nodes * ranks; ++r) node_of.push_back(r / ranks);
  return topology::Topology::from_nodes(node_of, {.single_copy = true});
}

Plan build(const topology::Topology& topology, Operation operation, Bytes bytes, const std::string& choice) {
  return build_plan(topology, {operation, bytes}, choice::parse_choice(operation, choice));
}

std::vector<Step> sends_of(const Plan& plan, int rank) {
  std::vector<Step> sends;
  for (const Step& step : plan.programs[static_cast<std::size_t>(rank)].steps)
    if (step.op() == Op::send) sends.push_back(step);
  return sends;
}

/// How often a node is the target of the k-th messages of all ranks that send k or more.
std::map<int, int> hits(const Plan& plan, std::size_t k) {
  std::map<int, int> hits;
  for (int rank = 0; rank < plan.topology.ranks(); ++rank)
    if (const std::vector<Step> sends = sends_of(plan, rank); k < sends.size())
      ++hits[plan.topology.node_of(sends[k].peer()).value];
  return hits;
}

TEST(Connections, UnderACapEveryNodeIsEquallyOftenATarget) {
  const int nodes = 8;
  for (const char* choice : {"single_group_direct,connections=1", "multi_group,groups=4,connections=1",
                             "multi_group_lean,groups=2,connections=1"}) {
    const Plan plan = build(blocks(nodes, 4), Operation::allgather, 1024, choice);
    for (std::size_t k = 0; k + 1 < nodes; ++k) {
      const std::map<int, int> hit = hits(plan, k);
      ASSERT_EQ(static_cast<int>(hit.size()), nodes) << choice << ", message " << k;
      for (const auto& [node, count] : hit) EXPECT_EQ(count, hit.begin()->second) << choice << ", node " << node;
    }
  }
}

TEST(Connections, GatherBasedNodesBeginWithDifferentTargets) {
  const Plan plan = build(blocks(8, 4), Operation::allgather, 1024, "gather_based,groups=4,connections=1");
  for (const auto& [node, count] : hits(plan, 0)) EXPECT_LE(count, 8) << "node " << node;
  for (int local = 0; local < 4; ++local) {
    std::map<int, int> first;
    for (int node = 0; node < 8; ++node) ++first[sends_of(plan, 4 * node + local).front().peer().value];
    for (const auto& [target, count] : first) EXPECT_LE(count, 5) << "rank " << target;
  }
}

TEST(ZeroCopy, TheNetworkReadsAndWritesTheCallersBuffers) {
  for (const char* form : {"single_group_ring", "single_group_direct", "multi_group,groups=2", "multi_group_lean",
                           "gather_based,groups=4"}) {
    const Plan plan = build(blocks(4, 4), Operation::allgather, 1024, std::string(form) + ",within=single_copy");
    for (const plan::Program& program : plan.programs) {
      EXPECT_EQ(program.scratch_bytes, 0u) << form;
      for (const Step& step : program.steps) {
        const bool is_network = step.op() == Op::send || step.op() == Op::recv;
        EXPECT_TRUE(!is_network || step.buffer() == Buffer::output) << form;
      }
    }
  }
}

TEST(ZeroCopy, OnBlocksItTakesNoMoreMessagesThanCopies) {
  for (const char* form : {"multi_group,groups=2", "gather_based,groups=4"}) {
    const Plan copies = build(blocks(4, 4), Operation::allgather, 1024, form);
    const Plan direct = build(blocks(4, 4), Operation::allgather, 1024, std::string(form) + ",within=single_copy");
    for (int rank = 0; rank < 16; ++rank) EXPECT_EQ(sends_of(direct, rank).size(), sends_of(copies, rank).size());
  }
}

TEST(ZeroCopy, RanksApartInTheOutputTakeAMessageEach) {
  std::vector<int> cyclic;
  for (int r = 0; r < 8; ++r) cyclic.push_back(r % 2);
  const Plan plan = build(topology::Topology::from_nodes(cyclic, {.single_copy = true}), Operation::allgather, 1024,
                          "multi_group,groups=2,within=single_copy");
  EXPECT_EQ(sends_of(plan, 0).size(), 2u);
}

/// Every form of groups, through cells and by single copy, on ranks whose blocks lie apart.
void for_each_form(const std::string& staging, const std::function<void(const std::string&, const Plan&)>& visit) {
  std::vector<int> cyclic;
  for (int r = 0; r < 12; ++r) cyclic.push_back(r % 3);
  const auto topology = topology::Topology::from_nodes(cyclic, {.single_copy = true});
  for (const char* form : {"single_group_ring", "single_group_direct", "multi_group,groups=2", "gather_based,groups=4",
                           "multi_group_lean,groups=2"})
    for (const char* within : {"cells", "single_copy"}) {
      const std::string choice = std::string(form) + ",within=" + within + ",staging=" + staging;
      visit(choice, build(topology, Operation::allgather, 1024, choice));
    }
}

TEST(Staging, CopyMakesOneMessageOfAllThatGoesToOnePlaceHoweverTheNodeMovesIt) {
  for_each_form("copy", [](const std::string& choice, const Plan& plan) {
    for (int rank = 0; rank < 12; ++rank) {
      std::map<int, int> messages;
      for (const Step& step : sends_of(plan, rank)) {
        EXPECT_EQ(step.buffer(), Buffer::scratch) << choice;
        ++messages[step.peer().value];
      }
      const bool is_ring = choice.find("ring") != std::string::npos;
      for (const auto& [peer, count] : messages) EXPECT_EQ(count, is_ring ? 2 : 1) << choice << ", rank " << rank;
    }
  });
}

TEST(Staging, ZeroCopyNeedsNoScratchHoweverTheNodeMovesData) {
  for_each_form("zero_copy", [](const std::string& choice, const Plan& plan) {
    for (const plan::Program& program : plan.programs) {
      EXPECT_EQ(program.scratch_bytes, 0u) << choice;
      for (const Step& step : program.steps) {
        const bool is_network = step.op() == Op::send || step.op() == Op::recv;
        EXPECT_TRUE(!is_network || step.buffer() == Buffer::output) << choice;
      }
    }
  });
}

TEST(Staging, IsSpelledOnlyWhereTheChoiceDoesNotLeaveItOpen) {
  const auto spelled = [](const char* text) { return to_string(choice::parse_choice(Operation::allgather, text)); };
  EXPECT_EQ(spelled("multi_group,staging=auto").find("staging"), std::string::npos);
  EXPECT_NE(spelled("gather_based,staging=zero_copy").find(",staging=zero_copy"), std::string::npos);
  EXPECT_THROW(spelled("multi_group,staging=some"), Error);
}

TEST(Segments, CutEveryMessage) {
  const Plan plan = build(blocks(2, 4), Operation::allgather, 4096, "multi_group_lean,groups=2,segment=1K");
  for (const int master : {0, 2}) {
    EXPECT_EQ(sends_of(plan, master).size(), 8u);
    for (const Step& step : sends_of(plan, master)) EXPECT_EQ(step.bytes(), 1024u);
  }
}

TEST(GroupBroadcast, EachMasterCarriesItsShareOnItsOwnConnections) {
  const Plan plan = build(blocks(4, 4), Operation::broadcast, 8192, "multi_group,groups=4,exchange=ring");
  for (int rank = 0; rank < 12; ++rank) {
    const std::vector<Step> sends = sends_of(plan, rank);
    ASSERT_EQ(sends.size(), 1u) << "rank " << rank;
    EXPECT_EQ(sends[0].bytes(), 2048u);
    EXPECT_EQ(sends[0].peer().value, rank + 4);
  }
  for (const plan::Traffic& node : count_traffic(plan)) EXPECT_LE(node.bytes_in, 8192u);
}

TEST(GroupBroadcast, GroupsBeginWithDifferentTargets) {
  const Plan plan = build(blocks(4, 3), Operation::broadcast, 9000, "multi_group,groups=3,exchange=direct");
  std::set<int> first;
  for (int rank = 0; rank < 3; ++rank) first.insert(plan.topology.node_of(sends_of(plan, rank).front().peer()).value);
  EXPECT_EQ(first, (std::set<int>{1, 2, 3}));
}

TEST(GroupBroadcast, ARootThatIsNoMasterSpeaksInsteadOfOne) {
  const topology::Topology topology = blocks(3, 4);
  plan::Problem problem{Operation::broadcast, 4096};
  problem.root = Rank(5);
  const Plan plan = build_plan(topology, problem, choice::parse_choice(Operation::broadcast, "multi_group,groups=2"));
  EXPECT_FALSE(sends_of(plan, 5).empty());
  EXPECT_TRUE(sends_of(plan, 4).empty());
}

TEST(GroupAllreduce, EachMasterExchangesItsSliceOnly) {
  plan::Problem problem{Operation::allreduce, 8192};
  problem.element = 8;
  const Plan plan =
      build_plan(blocks(2, 4), problem,
                 choice::parse_choice(Operation::allreduce, "multi_group,groups=4,exchange=recursive_doubling"));
  for (int rank = 0; rank < 8; ++rank) {
    const std::vector<Step> sends = sends_of(plan, rank);
    ASSERT_EQ(sends.size(), 1u) << "rank " << rank;
    EXPECT_EQ(sends[0].bytes(), 2048u);
    EXPECT_EQ(sends[0].peer().value, (rank + 4) % 8);
  }
}

TEST(GroupAllreduce, NodesOfFewRanksSpeakForSeveralSlices) {
  plan::Problem problem{Operation::allreduce, 4096};
  problem.element = 8;
  const Plan plan =
      build_plan(topology::Topology::from_nodes(std::vector{0, 0, 0, 0, 1}), problem,
                 choice::parse_choice(Operation::allreduce, "multi_group,groups=4,exchange=recursive_doubling"));
  EXPECT_EQ(sends_of(plan, 4).size(), 4u);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(sends_of(plan, rank).size(), 1u);
}

/// The most messages that a rank sends before it waits for the oldest of them.
std::size_t most_under_way(const Plan& plan, int rank) {
  std::set<std::uint32_t> slots;
  std::size_t most = 0;
  for (const Step& step : plan.programs[static_cast<std::size_t>(rank)].steps) {
    if (step.op() == Op::send) slots.insert(step.slot());
    if (step.op() == Op::finish) slots.erase(step.slot());
    most = std::max(most, slots.size());
  }
  return most;
}

Plan sum_in_segments(const std::string& knobs) {
  plan::Problem problem{Operation::allreduce, 32 << 10};
  problem.element = 8;
  const std::string choice = "multi_group,groups=4,segment=4K,cell=4K,cells=8" + knobs;
  return build_plan(blocks(8, 4), problem, choice::parse_choice(Operation::allreduce, choice));
}

TEST(GroupAllreduce, WhileASegmentIsOnTheWireItsNodeFoldsAndHandsOutOthers) {
  const Plan plan = sum_in_segments(",exchange=recursive_doubling");
  for (const plan::Program& program : plan.programs) {
    int under_way = 0, overlapped = 0;
    for (const Step& step : program.steps) {
      if (step.op() == Op::send) ++under_way;
      if (step.op() == Op::finish) under_way = 0;
      const bool reads = step.op() == Op::get || (step.op() == Op::reduce && step.far_buffer() == Buffer::window);
      overlapped += reads && under_way > 0;
    }
    EXPECT_GE(overlapped, 8 + 6) << "some of seven segments folded, each from three neighbours, and seven handed out";
  }
}

TEST(GroupAllreduce, KeepsAsManySegmentsBetweenTheNodesAsConnectionsAllow) {
  EXPECT_EQ(most_under_way(sum_in_segments(",connections=1"), 0), 1u);
  EXPECT_EQ(most_under_way(sum_in_segments(",connections=2"), 0), 2u);
  EXPECT_EQ(most_under_way(sum_in_segments(""), 0), 6u) << "as many as there are rounds";
}

TEST(GroupAllreduce, DividesByItsRadixInHalfAsManyRounds) {
  plan::Problem problem{Operation::allreduce, 16 << 10};
  problem.element = 8;
  const auto sends = [&](const std::string& knobs) {
    return sends_of(
        build_plan(blocks(16, 2), problem, choice::parse_choice(Operation::allreduce, "multi_group" + knobs)), 0);
  };
  EXPECT_EQ(sends(",radix=2").size(), 2u * 4);
  EXPECT_EQ(sends(",radix=4").size(), 2u * 2 * 3);
  Bytes sent = 0;
  for (const Step& step : sends(",radix=4")) sent += step.bytes();
  EXPECT_EQ(sent, Bytes{2 * 15 * (8 << 10) / 16});
}

plan::Problem sums(Bytes bytes) {
  plan::Problem problem{Operation::reduce_scatter, bytes};
  problem.element = 8;
  return problem;
}

TEST(GroupReduceScatter, EachMasterSendsWhatItFoldedForItsGroupToEveryOtherNode) {
  const Plan plan =
      build_plan(blocks(3, 4), sums(800), choice::parse_choice(Operation::reduce_scatter, "multi_group,groups=2"));
  for (int rank = 0; rank < 12; ++rank) {
    const std::vector<Step> sends = sends_of(plan, rank);
    EXPECT_EQ(sends.size(), rank % 2 == 0 ? 2u : 0u) << "rank " << rank;
    for (const Step& send : sends) {
      EXPECT_EQ(send.bytes(), 1600u) << "the blocks of two ranks";
      EXPECT_EQ(send.peer().value % 4, rank % 4) << "to its group's master";
    }
  }
}

TEST(GroupReduceScatter, MastersOfOneRankEachHandOutNothing) {
  const Plan plan =
      build_plan(blocks(2, 3), sums(800), choice::parse_choice(Operation::reduce_scatter, "multi_group,groups=3"));
  for (const plan::Program& program : plan.programs) {
    Bytes put = 0;
    for (const Step& step : program.steps)
      if (step.op() == Op::put) put += step.bytes();
    EXPECT_EQ(put, 2u * 2 * 800) << "for each node the blocks of the two others";
  }
}

TEST(GroupAlltoall, LeadersShareTheOtherNodes) {
  const Plan plan = build(blocks(5, 4), Operation::alltoall, 64, "multi_group,groups=2");
  for (int node = 0; node < 5; ++node) {
    EXPECT_EQ(sends_of(plan, 4 * node).size(), 2u);
    EXPECT_EQ(sends_of(plan, 4 * node + 2).size(), 2u);
    EXPECT_TRUE(sends_of(plan, 4 * node + 1).empty());
  }
}

}  // namespace
}  // namespace espalier::algorithms
