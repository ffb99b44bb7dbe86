#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "base/error.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "placements.hpp"
#include "plan/builder.hpp"
#include "plan/traffic.hpp"

namespace espalier::plan {
namespace {

using choice::parse_choice;

TEST(Builder, ReusesSlotsThatAreFree) {
  const auto topology = topology::Topology::from_nodes(std::vector<int>{0, 1});
  Builder builder(topology, Rank(0));
  const auto first = builder.send(Rank(1), Buffer::output, 0, 1), second = builder.send(Rank(1), Buffer::output, 1, 1);
  EXPECT_NE(first, second);
  builder.finish(first);
  EXPECT_EQ(builder.send(Rank(1), Buffer::output, 2, 1), first);
  EXPECT_EQ(std::move(builder).take().slots, 2u);
}

TEST(Problem, TakesTheDedicatedPathTheShorterTheMoreMessagesARankReads) {
  const auto is_taken = [](Operation operation, Bytes bytes, int ranks = 2) {
    return is_tiny({operation, bytes, Rank(0), is_reduction(operation) ? Bytes{8} : Bytes{1}}, ranks);
  };
  EXPECT_TRUE(is_taken(Operation::broadcast, tiny_bytes));
  EXPECT_FALSE(is_taken(Operation::broadcast, tiny_bytes + 1));
  for (const Operation to_one : {Operation::gather, Operation::reduce}) {
    EXPECT_TRUE(is_taken(to_one, 3 << 10)) << name(to_one);
    EXPECT_FALSE(is_taken(to_one, 4 << 10)) << name(to_one);
  }
  for (const Operation from_all : {Operation::allgather, Operation::allreduce, Operation::scan, Operation::alltoall}) {
    EXPECT_TRUE(is_taken(from_all, 2 << 10)) << name(from_all);
    EXPECT_FALSE(is_taken(from_all, 3 << 10)) << name(from_all);
  }
  EXPECT_FALSE(is_taken(Operation::scatter, 2 << 10, 4)) << "blocks for four share the lines";
}

TEST(Choice, IsReadAsItIsWritten) {
  for (const char* text :
       {"knomial,radix=4,segment=64K,within=cells,cell=32K,cells=4", "chain,segment=1M,within=single_copy"})
    EXPECT_EQ(to_string(parse_choice(Operation::broadcast, text)), text);
  EXPECT_EQ(parse_choice(Operation::allgather, "allgather_bruck").between, Between::bruck);
}

TEST(Choice, ThatDoesNotExistNamesWhatDoes) {
  const auto message = [](Operation operation, const char* text) -> std::string {
    try {
      parse_choice(operation, text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(Operation::broadcast, "ring").find("knomial, chain"), std::string::npos);
  EXPECT_NE(message(Operation::broadcast, "chain,radius=3").find("radix"), std::string::npos);
  EXPECT_NE(message(Operation::broadcast, "knomial,radix=1").find("from 2 to 64"), std::string::npos);
  EXPECT_NE(message(Operation::allgather, "ring,cell=3").find("64"), std::string::npos);
  EXPECT_NE(message(Operation::allgather, "ring,cells").find("knob=value"), std::string::npos);
}

TEST(BuiltInChoice, IsValidEverywhere) {
  for (const testing::Placement& placement : testing::placements())
    for (const bool single_copy : {false, true})
      for (const bool oversubscribed : {false, true})
        for (const Bytes window : {Bytes{4} << 10, Bytes{256} << 10})
          for (Bytes bytes = 1; bytes <= Bytes{16} << 20; bytes = bytes * 3 + 1)
            for (int operation = 0; operation < operation_count; ++operation) {
              const auto topology =
                  topology::Topology::from_nodes(placement.node_of, {single_copy, oversubscribed, window});
              const Problem problem{static_cast<Operation>(operation), operation == 2 ? 0 : bytes, Rank(0)};
              const Choice choice = choice::choose(topology, problem);
              EXPECT_EQ(algorithms::why_invalid(topology, problem, choice), "")
                  << placement.name << " " << to_string(choice);
            }
}

TEST(Validity, IsRefusedWithAReason) {
  const auto topology = topology::Topology::from_nodes(std::vector<int>{0, 0, 1}, {false, false, 4096});
  const Problem problem{Operation::broadcast, 100, Rank(0)};
  EXPECT_NE(algorithms::why_invalid(topology, problem, parse_choice(Operation::broadcast, "chain,within=single_copy")),
            "");
  EXPECT_NE(algorithms::why_invalid(topology, problem, parse_choice(Operation::broadcast, "chain,cell=4K,cells=2")),
            "");
  EXPECT_THROW(algorithms::build_program(topology, problem, parse_choice(Operation::broadcast, "chain,cell=4K,cells=2"),
                                         Rank(0)),
               Error);
  EXPECT_THROW(algorithms::build_program(topology, {Operation::broadcast, 1, Rank(3)},
                                         parse_choice(Operation::broadcast, "chain,cell=4K,cells=1"), Rank(0)),
               Error);
}

// A ring among 4 leaders of 4 ranks each: every node sends and receives 3 node blocks over one connection each way.
TEST(Traffic, OfARingIsWhatThePaperCountsAlsoBothWaysRound) {
  for (const int nodes : {4, 9}) {
    std::vector<int> node_of;
    for (int rank = 0; rank < 4 * nodes; ++rank) node_of.push_back(rank / 4);
    const auto plan =
        algorithms::build_plan(topology::Topology::from_nodes(node_of), {Operation::allgather, 1000, Rank(0)},
                               parse_choice(Operation::allgather, "ring"));
    const auto rounds = static_cast<unsigned>(nodes - 1), ways = nodes < 8 ? 1u : 2u;
    for (const Traffic& node : count_traffic(plan)) {
      EXPECT_EQ(node.bytes_out, rounds * 4000);
      EXPECT_EQ(node.bytes_in, rounds * 4000);
      EXPECT_EQ(node.messages_out, rounds);
      EXPECT_EQ(node.connections_out, ways);
      EXPECT_EQ(node.connections_in, ways);
    }
  }
}

}  // namespace
}  // namespace espalier::plan
