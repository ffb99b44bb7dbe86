// Ranks that take a call to be of different sizes, on one node: who only has room follows who sends, or hears it
// beforehand, and nobody takes what was said of one call for another (docs/adr/0019).

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/build.hpp"
#include "choice/parse.hpp"
#include "execute/lines/tiny.hpp"
#include "execute/run.hpp"
#include "expect.hpp"
#include "mpi/run/dissent.hpp"
#include "mpi/run/hearing.hpp"
#include "node.hpp"
#include "reference.hpp"

namespace espalier::interleavings {
namespace {

using execute::Ending;
using plan::Operation;
using plan::Problem;

constexpr Bytes window_bytes = 8192;
constexpr Rank root{1};

topology::Topology node_of(int ranks) {
  return topology::Topology::from_nodes(std::vector<int>(static_cast<std::size_t>(ranks), 0),
                                        {true, true, window_bytes});
}

/// A call as its senders make it, and as those do who only have room.
struct Call {
  plan::Plan sent;
  plan::Plan room;
  Problem sent_problem, room_problem;
};

Call call_of(int ranks, Operation operation, Bytes sent, Bytes room, const char* choice) {
  const auto problem = [&](Bytes bytes) { return Problem{operation, bytes, root}; };
  const auto plan = [&](Bytes bytes) {
    return algorithms::build_plan(node_of(ranks), problem(bytes), choice::parse_choice(operation, choice));
  };
  return {plan(sent), plan(room), problem(sent), problem(room)};
}

enum class Hears {
  never,       ///< who only has room finds out in the midst of its program
  by_itself,   ///< before it begins one, in a call that senders take part in (Engine::prepare_heard)
  with_others  ///< before memory is asked for: all hear all senders (Engine::supply)
};

/// One rank's calls, as an engine makes them.
struct Ranks {
  Node node;
  const std::vector<Call>& calls;
  Hears hears;
  topology::Topology topology;

  void run(int rank) const {
    const Rank me(rank);
    execute::Seat seat = node.seat(rank);
    execute::PatientWaiter waiter = node.waiter();
    for (int number = 0; number < static_cast<int>(calls.size()); ++number) {
      const Call& call = calls[static_cast<std::size_t>(number)];
      const bool sends = (me == root) == mpi::is_dealt(call.sent_problem.operation);
      bool knows = sends;
      if (hears != Hears::never) {
        const auto theirs = mpi::hear_senders(seat, waiter, sends ? call.sent_problem : call.room_problem, me == root,
                                              hears == Hears::with_others);
        require(!theirs || (!sends && *theirs == call.sent_problem.bytes), "another size was heard than was sent");
        knows = sends || theirs;
        if (hears == Hears::by_itself) mpi::end_hearing(seat);
      }
      finish(call, number, me, seat, waiter, knows);
    }
  }

  /// `knows`: what it is by its senders' size.
  void finish(const Call& call, int number, Rank me, execute::Seat& seat, execute::Waiter& waiter, bool knows) const {
    const bool only_has_room = (me == root) != mpi::is_dealt(call.sent_problem.operation);
    if (!knows) {
      testing::CallerBuffers own(call.room_problem, node.ranks(), me, number, false);
      const Ending ending = run(call.room, call.room_problem, me, own, seat, waiter, true);
      if (call.room_problem == call.sent_problem) {
        require(ending.kind == Ending::done, "a call of one size does not end well");
        require(own.result() == testing::expected_by(call.sent_problem, node.ranks(), me, number), "other bytes come");
        return;
      }
      require(ending.kind == Ending::other && ending.bytes == call.sent_problem.bytes, "it follows nobody");
      seat.repeat_call();
    }
    testing::CallerBuffers buffers(call.sent_problem, node.ranks(), me, number, false);
    const Ending ending = run(call.sent, call.sent_problem, me, buffers, seat, waiter, !only_has_room);
    require(ending.kind == Ending::done, "a call does not end well");
    require(buffers.result() == testing::expected_by(call.sent_problem, node.ranks(), me, number), "other bytes come");
    std::memset(buffers.input(), 0xee, input_bytes(call.sent_problem, node.ranks(), me));
  }

  Ending run(const plan::Plan& plan, const Problem& problem, Rank me, testing::CallerBuffers& buffers,
             execute::Seat& seat, execute::Waiter& waiter, bool may_follow) const {
    const plan::Program& program = plan.programs[static_cast<std::size_t>(me.value)];
    std::vector<std::byte> scratch(program.scratch_bytes);
    PlainCopy copy;
    mpi::Dissent dissent(seat, nullptr, topology, me, problem, may_follow);
    seat.begin_call();
    execute::Run run(program, {buffers.input(), buffers.output(), scratch.data()},
                     {.seat = &seat, .single_copy = &copy, .stated = problem.bytes, .vouches = !may_follow}, &dissent);
    return run.finish(waiter);
  }
};

Report explore_calls(int ranks, const std::vector<Call>& calls, Hears hears, const std::vector<Fault>& faults = {}) {
  Ranks all{Node(ranks, window_bytes), calls, hears, node_of(ranks)};
  Scenario scenario;
  scenario.ranks = ranks;
  scenario.prepare = [&](Arena& arena) { all.node.prepare(arena); };
  scenario.run = [&](int rank) { all.run(rank); };
  return explore(scenario, {.patience = 600, .faults = faults});
}

constexpr const char* in_cells = "knomial,within=cells,cell=128,cells=2";
constexpr const char* in_one_copy = "knomial,within=single_copy";

class Lengths : public ::testing::TestWithParam<Hears> {};

TEST_P(Lengths, OfABroadcastInCells) {
  const Call odd = call_of(2, Operation::broadcast, 200, 384, in_cells);
  const Call even = call_of(2, Operation::broadcast, 200, 200, in_cells);
  expect_right(explore_calls(2, {odd, even, odd}, GetParam()), "more room, as much, and more, 2 ranks");
}

TEST_P(Lengths, OfABroadcastOfOneCopy) {
  const Call odd = call_of(2, Operation::broadcast, 200, 384, in_one_copy);
  const Call even = call_of(2, Operation::broadcast, 384, 384, in_one_copy);
  expect_right(explore_calls(2, {odd, even}, GetParam()), "more room, and as much, by single copy, 2 ranks");
}

TEST_P(Lengths, OfABroadcastAmongThree) {
  const Call odd = call_of(3, Operation::broadcast, 100, 200, in_cells);
  expect_right(explore_calls(3, {odd}, GetParam()), "more room, 3 ranks");
}

TEST_P(Lengths, OfAScatter) {
  const Call odd = call_of(2, Operation::scatter, 100, 300, in_cells);
  const Call even = call_of(2, Operation::scatter, 100, 100, in_cells);
  expect_right(explore_calls(2, {odd, even}, GetParam()), "scatter with more room, and with as much, 2 ranks");
}

TEST_P(Lengths, OfAGather) {
  const Call odd = call_of(2, Operation::gather, 100, 300, in_cells);
  const Call even = call_of(2, Operation::gather, 100, 100, in_cells);
  expect_right(explore_calls(2, {odd, even}, GetParam()), "gather with more room, and with as much, 2 ranks");
}

INSTANTIATE_TEST_SUITE_P(Heard, Lengths, ::testing::Values(Hears::never, Hears::by_itself, Hears::with_others));

TEST(PlantedFaults, InWhatIsSaidOfSizesAreFound) {
  const Call odd = call_of(2, Operation::broadcast, 200, 384, in_cells);
  expect_found(explore_calls(2, {odd}, Hears::by_itself, {{Fault::lie, "statement", 0}}),
               "a statement that is not read");
}

}  // namespace
}  // namespace espalier::interleavings
