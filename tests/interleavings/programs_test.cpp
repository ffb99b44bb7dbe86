// Programs as the interpreter runs them: seats, flags, cells, single copies and statements of calls in a row, under
// C++'s memory order. The verifier proves each plan's steps (src/verify); here a few programs stand for what the
// interpreter makes of steps.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "algorithms/build.hpp"
#include "choice/choose.hpp"
#include "choice/parse.hpp"
#include "execute/lines/tiny.hpp"
#include "execute/run.hpp"
#include "expect.hpp"
#include "node.hpp"
#include "reference.hpp"

namespace espalier::interleavings {
namespace {

using plan::Operation;
using plan::Problem;

constexpr Bytes window_bytes = 8192;

topology::Topology node_of(int ranks) {
  return topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0),
                                        {true, true, window_bytes});
}

/// A call: a plan, or in lines where there is none.
struct Call {
  Problem problem;
  plan::Plan plan = {};
};

Problem problem_of(Operation operation, Bytes bytes) {
  Problem problem{operation};
  if (operation != Operation::barrier) problem.bytes = bytes;
  if (has_root(operation)) problem.root = Rank(1);
  problem.element = is_reduction(operation) ? 2 : 1;
  problem.is_commutative = !is_reduction(operation);
  return problem;
}

Call call_of(int ranks, Operation operation, Bytes bytes, const char* choice) {
  const Problem problem = problem_of(operation, bytes);
  return {problem, algorithms::build_plan(node_of(ranks), problem, choice::parse_choice(operation, choice))};
}

struct Ranks {
  Node node;
  const std::vector<Call>& calls;

  void run(int rank) const {
    execute::Seat seat = node.seat(rank);
    execute::PatientWaiter waiter = node.waiter();
    PlainCopy copy;
    for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
      const auto& [problem, plan] = calls[static_cast<std::size_t>(call)];
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, node.ranks(), Rank(rank), call, false);
      const auto ending = [&]() -> execute::Ending {
        if (plan.programs.empty())
          return execute::run_tiny(seat, problem, buffers.input(), buffers.output(), &reducer, waiter);
        const plan::Program& program = plan.programs[static_cast<std::size_t>(rank)];
        std::vector<std::byte> scratch(program.scratch_bytes);
        seat.begin_call();
        execute::Run run(program, {buffers.input(), buffers.output(), scratch.data()},
                         {.seat = &seat, .single_copy = &copy, .reducer = &reducer, .stated = problem.bytes});
        return run.finish(waiter);
      }();
      require(ending.kind == execute::Ending::done, "a call does not end well");
      require(buffers.result() == testing::expected_by(problem, node.ranks(), Rank(rank), call), "other bytes come");
      // The caller's again.
      std::memset(buffers.input(), 0xee, input_bytes(problem, node.ranks(), Rank(rank)));
      std::memset(buffers.output(), 0xee, output_bytes(problem, node.ranks(), Rank(rank)));
    }
  }
};

Report explore_calls(int ranks, const std::vector<Call>& calls, const Options& options = {},
                     Waiting waiting = Waiting::yield) {
  Ranks all{Node(ranks, window_bytes, waiting), calls};
  Scenario scenario;
  scenario.ranks = ranks;
  scenario.prepare = [&](Arena& arena) { all.node.prepare(arena); };
  scenario.run = [&](int rank) { all.run(rank); };
  return explore(scenario, options);
}

constexpr Operation operations[] = {Operation::broadcast, Operation::scatter,        Operation::gather,
                                    Operation::allgather, Operation::alltoall,       Operation::reduce,
                                    Operation::allreduce, Operation::reduce_scatter, Operation::scan,
                                    Operation::exscan,    Operation::barrier};

// Three calls: the last uses the windows of the first again.
TEST(Programs, OfTheBestChoicesOnTwoRanks) {
  for (const Operation operation : operations) {
    const Problem problem = problem_of(operation, 600);
    std::size_t left = 6;
    for (const auto& [choice, time] : choice::rank_choices(node_of(2), problem)) {
      if (left-- == 0) break;
      const Call call{problem, algorithms::build_plan(node_of(2), problem, choice)};
      expect_right(explore_calls(2, {call, call, call}),
                   std::string("3 × ") + plan::name(operation) + ", 2 ranks, " + plan::to_string(choice));
    }
  }
}

TEST(Programs, OfTheBestChoiceOnThreeRanks) {
  for (const Operation operation : operations) {
    const Problem problem = problem_of(operation, 120);
    const plan::Choice choice = choice::choose(node_of(3), problem);
    const Call call{problem, algorithms::build_plan(node_of(3), problem, choice)};
    expect_right(explore_calls(3, {call, call}),
                 std::string("2 × ") + plan::name(operation) + ", 3 ranks, " + plan::to_string(choice));
  }
}

TEST(Programs, InCellsThatAreUsedAgainAndAgain) {
  const Call call = call_of(2, Operation::broadcast, 384, "knomial,within=cells,cell=128,cells=2");
  expect_right(explore_calls(2, {call, call, call}), "3 × broadcast in two cells, 2 ranks");
  const Call of_three = call_of(3, Operation::broadcast, 384, "knomial,within=cells,cell=128,cells=2");
  expect_right(explore_calls(3, {of_three}), "broadcast in two cells, 3 ranks");
}

TEST(Programs, FollowOtherKindsOfCalls) {
  const Call cells = call_of(2, Operation::broadcast, 500, "knomial,within=cells,cell=256,cells=2");
  const Call copies = call_of(2, Operation::allgather, 300, "ring,within=single_copy");
  const Call lines{problem_of(Operation::allreduce, 16)};
  expect_right(explore_calls(2, {cells, lines, copies, lines, cells}),
               "cells, lines and single copies in turn, 2 ranks");
}

TEST(Programs, WhoseReaderTakesLinesOverOrNot) {
  const Call call = call_of(2, Operation::broadcast, 2048, "knomial,within=cells,cell=2K,cells=2");
  ASSERT_TRUE(call.plan.programs[0].has_one_reader || call.plan.programs[1].has_one_reader);
  expect_right(explore_calls(2, {call, call, call}, {.faults = {{Fault::any_bool, "advice"}}}),
               "3 × broadcast, lines taken over or not, 2 ranks");
}

TEST(Programs, WakeThoseThatSleep) {
  const Call call = call_of(2, Operation::broadcast, 500, "knomial,within=cells,cell=256,cells=2");
  expect_right(explore_calls(2, {call}, {.looks_are_pure = false}, Waiting::futex),
               "broadcast in cells, asleep, 2 ranks");
}

TEST(PlantedFaults, InProgramsAreFound) {
  const auto cells = [](const Fault& fault, const char* choice = "knomial,within=cells,cell=128,cells=2") {
    const Call call = call_of(2, Operation::broadcast, 384, choice);
    return explore_calls(2, {call, call, call}, {.faults = {fault}});
  };
  expect_found(cells({Fault::relaxed_store, "flag ready"}), "a cell that is not released");
  expect_found(cells({Fault::relaxed_load, "flag ready"}), "a cell that is not acquired");
  expect_found(cells({Fault::relaxed_store, "flag taken"}), "a cell given back without a release");
  expect_found(cells({Fault::relaxed_load, "flag taken"}), "a cell taken back without an acquire");
  expect_found(cells({Fault::lie, "flag taken", ~0ull >> 1}), "a cell written again too early");
  expect_found(cells({Fault::lie, "flag done", ~0ull >> 1}, "knomial,within=cells,cell=256,cells=2"),
               "a window written again too early");
  const auto copies = [](const std::vector<Fault>& faults) {
    const Call call = call_of(2, Operation::allgather, 300, "ring,within=single_copy");
    return explore_calls(2, {call, call}, {.faults = faults});
  };
  expect_right(copies({}), "2 × allgather by single copy, 2 ranks");
  expect_right(copies({{Fault::relaxed_store, "flag ready"}}), "what a statement releases, too");
  expect_found(copies({{Fault::relaxed_store, "flag ready"}, {Fault::relaxed_store, "statement"}}),
               "a buffer exposed without a release");
  expect_found(copies({{Fault::lie, "flag taken", ~0ull >> 1}}), "a buffer given back before it was read");
}

}  // namespace
}  // namespace espalier::interleavings
