// Every registered algorithm, on every placement, moves the right bytes when threads run its programs.

#include <gtest/gtest.h>

#include "collectives/build.hpp"
#include "collectives/registry.hpp"
#include "placements.hpp"
#include "transports/threads.hpp"

namespace espalier::collectives {
namespace {

using plan::Choice;
using plan::Operation;
using plan::Problem;
using plan::Within;
using testing::Placement;
using topology::Topology;
using transports::ThreadWorld;

constexpr Bytes window_bytes = 16 << 10;

std::byte pattern(int call, int rank, Bytes position) {
  return static_cast<std::byte>(
      (static_cast<Bytes>(call) * 131 + static_cast<Bytes>(rank) * 31 + position * 7 + position / 251) & 0xff);
}

/// What a rank has after the call.
std::vector<std::byte> expected_output(const Problem& problem, int ranks, int call) {
  std::vector<std::byte> expected(output_bytes(problem, ranks));
  for (Bytes i = 0; i < expected.size(); ++i) {
    const bool is_allgather = problem.operation == Operation::allgather;
    expected[i] = is_allgather ? pattern(call, static_cast<int>(i / problem.bytes), i % problem.bytes)
                               : pattern(call, problem.root.value, i);
  }
  return expected;
}

/// One rank's memory before the call.
struct Memory {
  std::vector<std::byte> input, output;
};

Memory prepare(const Problem& problem, int ranks, int call, Rank me) {
  Memory memory{std::vector<std::byte>(input_bytes(problem)), std::vector<std::byte>(output_bytes(problem, ranks))};
  for (Bytes i = 0; i < memory.input.size(); ++i) memory.input[i] = pattern(call, me.value, i);
  if (problem.operation == Operation::broadcast && me == problem.root)
    memory.output = expected_output(problem, ranks, call);
  return memory;
}

/// Several calls in a row on one communicator, so that windows and flags are used again.
void expect_right_bytes(const Topology& topology, const std::vector<Problem>& calls, const Choice& choice,
                        bool is_synchronous) {
  ThreadWorld world(topology, window_bytes);
  world.set_synchronous(is_synchronous);
  transports::for_each_rank(topology.ranks(), [&](Rank me) {
    for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
      const Problem& problem = calls[static_cast<std::size_t>(call)];
      Memory memory = prepare(problem, topology.ranks(), call, me);
      ASSERT_TRUE(
          world.run(me, build_program(topology, problem, choice, me), memory.input.data(), memory.output.data()));
      EXPECT_EQ(memory.output, expected_output(problem, topology.ranks(), call))
          << "rank " << me.value << " of " << topology.ranks() << ", call " << call << ", " << problem.bytes
          << " bytes, " << to_string(choice);
    }
  });
}

std::vector<Problem> calls_of(Operation operation, int ranks) {
  std::vector<Problem> calls;
  for (const Bytes bytes : {Bytes{1}, Bytes{0}, Bytes{57}, Bytes{1023}, Bytes{4096}, Bytes{9001}})
    calls.push_back({operation, operation == Operation::barrier ? 0 : bytes, Rank(0)});
  if (operation == Operation::broadcast)
    for (int i = 0; i < static_cast<int>(calls.size()); ++i) calls[static_cast<std::size_t>(i)].root = Rank(i % ranks);
  return calls;
}

std::vector<Choice> choices_of(const Algorithm& algorithm) {
  std::vector<Choice> choices;
  for (const Within within : {Within::cells, Within::single_copy})
    for (const Bytes segment : {Bytes{0}, Bytes{1} << 10}) {
      Choice choice{algorithm.between, within, segment == 0 ? 2 : 3, segment, 512, 3};
      choices.push_back(choice);
    }
  choices.push_back({algorithm.between, Within::cells, 4, 2048, 16 << 10, 1});
  return choices;
}

class Execution : public ::testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Execution, MovesTheRightBytes) {
  const Placement& placement = testing::placements()[static_cast<std::size_t>(std::get<0>(GetParam()))];
  const Algorithm& algorithm = algorithms()[static_cast<std::size_t>(std::get<1>(GetParam()))];
  const Topology topology = Topology::from_nodes(placement.node_of, {true, false, window_bytes});
  for (const Choice& choice : choices_of(algorithm))
    for (const bool is_synchronous : {false, true})
      expect_right_bytes(topology, calls_of(algorithm.operation, topology.ranks()), choice, is_synchronous);
}

INSTANTIATE_TEST_SUITE_P(AllAlgorithms, Execution,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(testing::placements().size())),
                                            ::testing::Range(0, static_cast<int>(algorithms().size()))),
                         [](const auto& info) {
                           return std::string(algorithms()[static_cast<std::size_t>(std::get<1>(info.param))].name) +
                                  "_on_" +
                                  testing::placements()[static_cast<std::size_t>(std::get<0>(info.param))].name;
                         });

}  // namespace
}  // namespace espalier::collectives
