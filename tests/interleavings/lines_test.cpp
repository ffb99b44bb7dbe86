// Short messages in lines (execute/lines): every execution of calls in a row, of as many as it takes
// for lines to be written again.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "execute/lines/tiny.hpp"
#include "execute/lines/tiny_run.hpp"
#include "expect.hpp"
#include "node.hpp"
#include "reference.hpp"

namespace espalier::interleavings {
namespace {

using plan::Operation;
using plan::Problem;

constexpr Operation operations[] = {Operation::barrier, Operation::broadcast, Operation::scatter,
                                    Operation::gather,  Operation::allgather, Operation::alltoall,
                                    Operation::reduce,  Operation::allreduce, Operation::reduce_scatter,
                                    Operation::scan,    Operation::exscan};

Problem problem_of(Operation operation, Bytes bytes, int root = 0) {
  Problem problem{operation};
  if (operation != Operation::barrier) problem.bytes = bytes;
  if (has_root(operation)) problem.root = Rank(root);
  problem.element = is_reduction(operation) ? 2 : 1;
  problem.is_commutative = !is_reduction(operation);
  return problem;
}

/// How a rank makes a call: it waits, or looks again and again whether it gets on.
enum class Way { waiting, in_steps };

execute::Ending make_call(Way way, execute::Seat& seat, const Problem& problem, testing::CallerBuffers& buffers,
                          execute::Waiter& waiter) {
  const testing::ReferenceReducer reducer(problem.is_commutative);
  if (way == Way::waiting) return execute::run_tiny(seat, problem, buffers.input(), buffers.output(), &reducer, waiter);
  execute::TinyRun run(seat, problem, {buffers.input(), buffers.output()}, &reducer);
  std::optional<execute::Ending> ending;
  for (std::uint32_t look = 0; !(ending = run.advance()); ++look) waiter.pause(look, nullptr);
  return *ending;
}

/// Calls in a row on one communicator, each checked by every rank. Buffers are the caller's before and after.
Report explore_calls(int ranks, const std::vector<Problem>& problems, const Options& options = {},
                     Waiting waiting = Waiting::yield, Way way = Way::waiting) {
  Node node(ranks, 0, waiting);
  Scenario scenario;
  scenario.ranks = ranks;
  scenario.prepare = [&](Arena& arena) { node.prepare(arena); };
  scenario.run = [&](int rank) {
    execute::Seat seat = node.seat(rank);
    execute::PatientWaiter waiter = node.waiter();
    int call = 0;
    for (const Problem& problem : problems) {
      testing::CallerBuffers buffers(problem, ranks, Rank(rank), call, false);
      const execute::Ending ending = make_call(way, seat, problem, buffers, waiter);
      require(ending.kind == execute::Ending::done, "a call does not end well");
      require(buffers.result() == testing::expected_by(problem, ranks, Rank(rank), call), "other bytes come");
      ++call;
    }
  };
  return explore(scenario, options);
}

std::string text(const Problem& problem, int ranks, std::size_t calls) {
  return std::to_string(calls) + " × " + plan::name(problem.operation) + " of " + std::to_string(problem.bytes) +
         " bytes, " + std::to_string(ranks) + " ranks";
}

/// Lines of a rank's message in a call.
std::uint32_t lines_of(const Problem& problem, int ranks) { return execute::longest_message(problem, ranks); }

/// Until each line was written at least twice, and read in between.
std::size_t calls_around(const Problem& problem, int ranks) {
  const std::uint32_t per_block = execute::short_ring_block / lines_of(problem, ranks);
  return std::size_t{execute::ring_blocks} * per_block + 1;
}

class Lines : public ::testing::TestWithParam<std::tuple<int, Operation>> {};

TEST_P(Lines, AreWrittenAgainOnlyAfterAllHaveReadThem) {
  const auto [ranks, operation] = GetParam();
  // Messages of a line or a few; of three ranks, which get further apart, of a block of the ring.
  std::vector<Bytes> sizes{8, 3 * execute::Line::payload_bytes};
  const bool has_blocks = lines_of(problem_of(operation, 8), ranks) > 1;
  if (ranks == 3) sizes = {(has_blocks ? 4 : 12) * execute::Line::payload_bytes};
  for (const Bytes bytes : sizes) {
    const Problem problem = problem_of(operation, bytes, ranks - 1);
    const std::size_t calls = ranks == 3 && operation == Operation::barrier ? 9 : calls_around(problem, ranks);
    expect_right(explore_calls(ranks, std::vector<Problem>(calls, problem)), text(problem, ranks, calls));
  }
}

std::string title(const ::testing::TestParamInfo<std::tuple<int, Operation>>& info) {
  return std::string(plan::name(std::get<1>(info.param))) + "_on_" + std::to_string(std::get<0>(info.param));
}
INSTANTIATE_TEST_SUITE_P(Of, Lines, ::testing::Combine(::testing::Values(2), ::testing::ValuesIn(operations)), title);
INSTANTIATE_TEST_SUITE_P(OfThree, Lines,
                         ::testing::Combine(::testing::Values(3),
                                            ::testing::Values(Operation::barrier, Operation::broadcast,
                                                              Operation::scatter)),
                         title);

TEST(LinesTest, OperationsAndRootsFollowEachOtherInAnyOrder) {
  for (const int ranks : {2, 3}) {
    std::vector<Problem> problems;
    for (int i = 0; i < (ranks == 2 ? 2 : 1); ++i)
      for (const Operation operation : operations) problems.push_back(problem_of(operation, 60, i % ranks));
    expect_right(explore_calls(ranks, problems), "all operations, " + std::to_string(ranks) + " ranks");
  }
}

TEST(LinesTest, ThreeAndFourRanksMakeCallsInARow) {
  for (const Operation operation : operations) {
    const Problem problem = problem_of(operation, 8, 1);
    expect_right(explore_calls(3, std::vector<Problem>(5, problem)), text(problem, 3, 5));
  }
  for (const Operation operation : {Operation::broadcast, Operation::gather, Operation::scan, Operation::allreduce}) {
    const Problem problem = problem_of(operation, 8, 1);
    expect_right(explore_calls(4, std::vector<Problem>(4, problem)), text(problem, 4, 4));
  }
}

TEST(LinesTest, BlocksOfDifferentSizesThatAllRanksKnow) {
  for (const Operation operation : {Operation::allgather, Operation::reduce_scatter}) {
    Problem problem = problem_of(operation, 0);
    problem.counts = {2, 120, 60};
    expect_right(explore_calls(3, std::vector<Problem>(5, problem)), text(problem, 3, 5) + " with counts");
  }
}

// Nonblocking calls of short messages (execute/lines/tiny_run.hpp).
TEST(LinesTest, CallsInStepsAreLikeThoseThatWait) {
  for (const Operation operation : operations) {
    const Problem problem = problem_of(operation, 60, 1);
    const std::size_t around = calls_around(problem, 2);
    const auto explore_in_steps = [&](int ranks, std::size_t calls) {
      return explore_calls(ranks, std::vector<Problem>(calls, problem), {}, Waiting::yield, Way::in_steps);
    };
    expect_right(explore_in_steps(2, around), text(problem, 2, around) + " in steps");
    expect_right(explore_in_steps(3, 3), text(problem, 3, 3) + " in steps");
  }
}

// A communicator that is used much gets long rings between two calls, while slower ranks still read in the short ones.
TEST(LinesTest, RingsMayBecomeLongBetweenTwoCalls) {
  for (const int ranks : {2, 3}) {
    Node node(ranks);
    const Problem problem = problem_of(Operation::broadcast, 8);
    Scenario scenario;
    scenario.ranks = ranks;
    scenario.prepare = [&](Arena& arena) { node.prepare(arena); };
    scenario.run = [&](int rank) {
      execute::Seat seat = node.seat(rank);
      execute::PatientWaiter waiter = node.waiter();
      for (int call = 0; call < 4; ++call) {
        if (call == 2) seat.use_long_rings(node.long_rings());
        testing::CallerBuffers buffers(problem, ranks, Rank(rank), call, false);
        execute::run_tiny(seat, problem, buffers.input(), buffers.output(), nullptr, waiter);
        require(buffers.result() == testing::expected_by(problem, ranks, Rank(rank), call), "other bytes come");
      }
    };
    expect_right(explore(scenario),
                 "4 × broadcast, from the third on in long rings, " + std::to_string(ranks) + " ranks");
  }
}

// Whoever sleeps is woken: the look in vain, the announcement and the sleep have effects, and all of them are explored.
TEST(LinesTest, RanksThatSleepAreWoken) {
  const Options options{.looks_are_pure = false};
  for (const Operation operation : {Operation::broadcast, Operation::gather, Operation::scan}) {
    const Problem problem = problem_of(operation, 8);
    expect_right(explore_calls(2, std::vector<Problem>(3, problem), options, Waiting::futex),
                 text(problem, 2, 3) + ", asleep");
  }
  const Problem problem = problem_of(Operation::allreduce, 8);
  expect_right(explore_calls(2, {problem}, options, Waiting::futex), text(problem, 2, 1) + ", asleep");
}

// What was sent holds, and who waits for something else finds it once it has waited for long.
TEST(LinesTest, RanksThatExpectOtherSizesFindWhatWasSent) {
  for (const Bytes sent : {8, 100}) {
    Node node(2);
    Scenario scenario;
    scenario.prepare = [&](Arena& arena) { node.prepare(arena); };
    scenario.run = [&](int rank) {
      execute::Seat seat = node.seat(rank);
      execute::PatientWaiter waiter = node.waiter();
      std::byte data[100] = {};
      const Bytes room = rank == 0 ? sent : 60;
      for (std::byte& it : data) it = static_cast<std::byte>(rank == 0);
      const auto ending = execute::run_tiny(seat, problem_of(Operation::broadcast, room), data, data, nullptr, waiter);
      require(rank == 0 || ending.kind == (sent < room ? execute::Ending::shorter : execute::Ending::truncated),
              "a call ends otherwise");
      require(data[std::min(sent, room) - 1] == std::byte{1}, "other bytes come");
    };
    const Report report = explore(scenario, {.patience = 600});
    expect_right(report, "broadcast of " + std::to_string(sent) + " bytes to a rank that expects 60");
    EXPECT_GT(report.executions, 0u);
  }
}

/// Broadcasts until the ring has come round twice, with a fault.
Report explore_with(const Fault& fault) {
  const Problem problem = problem_of(Operation::broadcast, 8 * execute::Line::payload_bytes);
  return explore_calls(2, std::vector<Problem>(5, problem), {.faults = {fault}});
}

/// One, with ranks that sleep.
Report explore_asleep_with(const Fault& fault) {
  return explore_calls(2, {problem_of(Operation::broadcast, 8)}, {.looks_are_pure = false, .faults = {fault}},
                       Waiting::futex);
}

TEST(PlantedFaults, InLinesAreFound) {
  expect_right(explore_with({}), "no fault");
  expect_found(explore_with({Fault::relaxed_store, "line"}), "a line that is not released");
  expect_found(explore_with({Fault::relaxed_load, "line"}), "a line that is not acquired");
  expect_found(explore_with({Fault::relaxed_store, "flag done"}), "done without a release");
  expect_found(explore_with({Fault::relaxed_load, "flag done"}), "done without an acquire");
  expect_found(explore_with({Fault::lie, "flag done", ~0ull}), "lines written again too early");
}

TEST(PlantedFaults, InLinesThatAreReadInStepsAreFound) {
  const Problem problem = problem_of(Operation::broadcast, 6 * execute::Line::payload_bytes);
  const auto explore_in_steps = [&](const Fault& fault) {
    return explore_calls(2, std::vector<Problem>(5, problem), {.faults = {fault}}, Waiting::yield, Way::in_steps);
  };
  expect_right(explore_in_steps({}), "no fault");
  expect_found(explore_in_steps({Fault::relaxed_store, "line"}), "a line that is not released");
  expect_found(explore_in_steps({Fault::relaxed_load, "line"}), "a line that is not acquired");
  expect_found(explore_in_steps({Fault::relaxed_load, "flag done"}), "done without an acquire");
}

TEST(PlantedFaults, InBellsAreFound) {
  expect_right(explore_asleep_with({}), "no fault, asleep");
  expect_found(explore_asleep_with({Fault::lie, "bell", 0}), "a bell that does not ring");
  expect_found(explore_asleep_with({Fault::relaxed_store, "bell"}), "a ring without a release");
  expect_found(explore_asleep_with({Fault::relaxed_load, "bell"}), "an announcement without an acquire");
}

}  // namespace
}  // namespace espalier::interleavings
