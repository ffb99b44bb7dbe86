// Every registered algorithm, on every placement, moves the right bytes when threads run its programs.

#include <gtest/gtest.h>

#include "algorithms/build.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/limits.hpp"
#include "choice/parse.hpp"
#include "placements.hpp"
#include "reference.hpp"
#include "transports/threads.hpp"

namespace espalier::algorithms {
namespace {

using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;
using testing::Placement;
using topology::Topology;
using transports::ThreadWorld;

constexpr Bytes window_bytes = 16 << 10;

/// Several calls in a row on one communicator, so that windows and flags are used again; every other one in place.
void expect_right_bytes(const Topology& topology, const std::vector<Problem>& calls, const Choice& choice,
                        bool is_synchronous) {
  ThreadWorld world(topology, window_bytes);
  world.set_synchronous(is_synchronous);
  const int ranks = topology.ranks();
  transports::for_each_rank(ranks, [&](Rank me) {
    for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
      const Problem& problem = calls[static_cast<std::size_t>(call)];
      if (!why_invalid(topology, problem, choice).empty()) continue;
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, ranks, me, call, call % 2 == 1);
      ASSERT_TRUE(
          world.run(me, build_program(topology, problem, choice, me), buffers.input(), buffers.output(), &reducer));
      EXPECT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, call))
          << "rank " << me.value << " of " << ranks << ", call " << call << ", " << problem.bytes << " bytes, "
          << to_string(choice);
    }
  });
}

/// Uneven blocks, some empty, for the operations that have one for every rank.
std::vector<Bytes> uneven_counts(Operation operation, int ranks) {
  if (operation == Operation::broadcast || operation == Operation::barrier || operation == Operation::reduce ||
      operation == Operation::allreduce || operation == Operation::scan || operation == Operation::exscan)
    return {};
  std::vector<Bytes> counts(static_cast<std::size_t>(operation == Operation::alltoall ? ranks * ranks : ranks));
  for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = (i * 5 + 1) % 7 * 338;
  return counts;
}

std::vector<Problem> calls_of(Operation operation, int ranks) {
  std::vector<Problem> calls;
  for (const Bytes bytes : {Bytes{2}, Bytes{0}, Bytes{58}, Bytes{1024}, Bytes{4096}, Bytes{9002}}) {
    Problem problem{operation, operation == Operation::barrier ? 0 : bytes};
    const int number = static_cast<int>(calls.size());
    if (has_root(operation)) problem.root = Rank(number % ranks);
    if (is_reduction(operation)) {
      problem.element = 2;
      problem.is_commutative = number % 3 != 0;
    }
    if (number % 3 == 2) problem.counts = uneven_counts(operation, ranks);
    calls.push_back(problem);
  }
  return calls;
}

bool has_groups(plan::Between between) {
  return between == plan::Between::multi_group || between == plan::Between::multi_group_lean ||
         between == plan::Between::gather_based;
}

/// More groups than some nodes have ranks, every exchange, a cap of one connection.
void add_groups(const Algorithm& algorithm, std::vector<Choice>& choices) {
  for (int exchange = 0; exchange < 4; ++exchange)
    for (const Within within : {Within::cells, Within::single_copy}) {
      Choice choice{algorithm.between, within, 2, exchange < 2 ? 0u : 1024u, 512, 3};
      choice.groups = 3;
      choice.exchange = static_cast<plan::Exchange>(exchange);
      choice.connections = exchange % 2;
      choices.push_back(choice);
    }
}

std::vector<Choice> choices_of(const Algorithm& algorithm) {
  std::vector<Choice> choices;
  for (const Within within : {Within::cells, Within::single_copy})
    for (const Bytes segment : {Bytes{0}, Bytes{1} << 10}) {
      Choice choice{algorithm.between, within, segment == 0 ? 2 : 3, segment, 512, 3};
      choices.push_back(choice);
    }
  choices.push_back({algorithm.between, Within::cells, 4, 2048, 16 << 10, 1});
  choices.back().stores = plan::Stores::streaming;
  for (const int levels : {2, 3})
    for (const Within within : {Within::cells, Within::single_copy}) {
      choices.push_back({algorithm.between, within, 2, 0, 512, 3});
      choices.back().levels = levels;
    }
  if (has_groups(algorithm.between)) add_groups(algorithm, choices);
  if (std::string_view(algorithm.knobs).find("bruck") != std::string_view::npos) {
    choices.push_back({algorithm.between, Within::cells, 3, 0, 4096, 4});
    choices.back().exchange = plan::Exchange::bruck;
  }
  return choices;
}

class Execution : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Execution, MovesTheRightBytes) {
  const Placement& placement = testing::placements()[static_cast<std::size_t>(std::get<0>(GetParam()))];
  const Algorithm& algorithm = algorithms()[static_cast<std::size_t>(std::get<1>(GetParam()))];
  std::vector<machine::RankFacts> facts(placement.node_of.size());
  for (std::size_t r = 0; r < facts.size(); ++r) {
    facts[r].numa = static_cast<std::int16_t>(r / 2 % 2);
    facts[r].l3 = static_cast<std::int16_t>(r / 2 % 4);
  }
  const Topology topology = Topology::from_nodes(placement.node_of, {true, false, window_bytes}, facts);
  for (const Choice& choice : choices_of(algorithm))
    for (const bool is_synchronous : {false, true})
      expect_right_bytes(topology, calls_of(algorithm.operation, topology.ranks()), choice, is_synchronous);
}

/// Six and eight leaders on nodes of up to eight ranks, a few of whose slices are empty, all at once and in batches.
TEST(ExecutionInSlices, AnAllToAllMovesTheRightBytes) {
  using testing::Mapping;
  for (const Topology& topology : {testing::place(3, 6), testing::place(2, 8, Mapping::cyclic),
                                   testing::place(3, 5, Mapping::uneven), testing::place(4, 4, Mapping::cyclic)})
    for (const char* text :
         {"multi_group,groups=6,cell=8K,cells=2", "multi_group,groups=8,cell=1K,cells=2", "flat,cell=1K,cells=1"})
      for (const bool is_synchronous : {false, true})
        expect_right_bytes(topology, calls_of(Operation::alltoall, topology.ranks()),
                           choice::parse_choice(Operation::alltoall, text), is_synchronous);
}

INSTANTIATE_TEST_SUITE_P(AllAlgorithms, Execution,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(testing::placements().size())),
                                            ::testing::Range(0, static_cast<int>(algorithms().size()))),
                         [](const auto& info) {
                           return std::string(algorithms()[static_cast<std::size_t>(std::get<1>(info.param))].name()) +
                                  "_on_" +
                                  testing::placements()[static_cast<std::size_t>(std::get<0>(info.param))].name;
                         });

}  // namespace
}  // namespace espalier::algorithms
