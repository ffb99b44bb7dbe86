// Faults that a step shows by itself.

#include "faults.hpp"

namespace espalier::verify {
namespace {

const std::vector<int> two_nodes = {0, 0, 0, 1, 1};

Plan cells() { return make(two_nodes, Operation::broadcast, 200, 0, "knomial,cell=64,cells=2"); }
Plan single_copy() { return make({0, 0, 0}, Operation::allgather, 100, 0, "ring,within=single_copy"); }
Plan gathered() { return make({0, 1, 0, 1}, Operation::allgather, 100, 0, "ring,cell=64,cells=2"); }

TEST(Rules, AProgramForEveryRank) {
  Plan plan = cells();
  plan.programs.pop_back();
  expect_fault(plan, Kind::shape, 0, Violation::before_first);
}

TEST(Rules, TheRootExists) {
  Plan plan = cells();
  plan.problem.root = Rank(5);
  expect_fault(plan, Kind::shape, 0, Violation::before_first);
}

TEST(Rules, SendStaysInItsBuffer) {
  Plan plan = cells();
  const int at = find(plan, 0, Op::send);
  const Step send = step_at(plan, 0, at);
  step_at(plan, 0, at) = Step::send(send.peer(), send.buffer(), 1, 200, send.slot());
  expect_fault(plan, Kind::bounds, 0, at, 1, 201);
}

TEST(Rules, OffsetsDoNotWrapAround) {
  Plan plan = cells();
  const int at = find(plan, 0, Op::send);
  const Step send = step_at(plan, 0, at);
  step_at(plan, 0, at) = Step::send(send.peer(), send.buffer(), ~Bytes{0} - 10, 200, send.slot());
  expect_fault(plan, Kind::bounds, 0, at);
}

TEST(Rules, PutStaysInTheWindow) {
  Plan plan = cells();
  plan.programs[0].window_bytes = 100;
  expect_fault(plan, Kind::bounds, 0, find(plan, 0, Op::put, 1), 64, 128);
}

TEST(Rules, GetStaysInTheOwnersWindow) {
  Plan plan = cells();
  plan.programs[0].window_bytes = 100;
  expect_fault(plan, Kind::bounds, 2, find(plan, 2, Op::get, 1), 64, 128);
}

TEST(Rules, TheWindowFitsTheTopology) {
  Plan plan = cells();
  plan.topology = Topology::from_nodes(two_nodes, {.window_bytes = 100});
  expect_fault(plan, Kind::bounds, 0, 0);
}

TEST(Rules, ScratchIsLargeEnough) {
  Plan plan = gathered();
  plan.programs[0].scratch_bytes -= 1;
  const int at = find(plan, 0, Op::recv);
  const Step recv = step_at(plan, 0, at);
  expect_fault(plan, Kind::bounds, 0, at, recv.offset(), recv.offset() + recv.bytes());
}

TEST(Rules, PullStaysInTheNeighboursBuffer) {
  Plan plan = single_copy();
  const int at = find(plan, 1, Op::pull);
  const Step pull = step_at(plan, 1, at);
  step_at(plan, 1, at) = Step::pull(pull.neighbour(), Buffer::input, 1, pull.buffer(), pull.offset(), pull.bytes());
  expect_fault(plan, Kind::bounds, 1, at, 1, 101);
}

TEST(Rules, PrivateCopiesDoNotNameAWindow) {
  Plan plan = cells();
  insert(plan, 1, 0, Step::copy(Buffer::output, 0, Buffer::window, 0, 0));
  expect_fault(plan, Kind::bounds, 1, 0);
}

TEST(Rules, PeersExist) {
  Plan plan = cells();
  const int at = find(plan, 0, Op::send);
  const Step send = step_at(plan, 0, at);
  step_at(plan, 0, at) = Step::send(Rank(5), send.buffer(), send.offset(), send.bytes(), send.slot());
  expect_fault(plan, Kind::peer, 0, at);
}

TEST(Rules, MessagesGoToOtherNodes) {
  Plan plan = cells();
  const int at = find(plan, 0, Op::send);
  const Step send = step_at(plan, 0, at);
  step_at(plan, 0, at) = Step::send(Rank(1), send.buffer(), send.offset(), send.bytes(), send.slot());
  expect_fault(plan, Kind::peer, 0, at);
}

TEST(Rules, NeighboursExist) {
  Plan plan = cells();
  const int get = find(plan, 4, Op::get);
  const Step step = step_at(plan, 4, get);
  step_at(plan, 4, get) = Step::get(LocalRank(2), step.window_offset(), step.buffer(), step.offset(), step.bytes());
  const int await = find(plan, 2, Op::await);
  step_at(plan, 2, await) = Step::await(LocalRank(-1), Flag::ready, 1);
  expect_fault(plan, Kind::peer, 4, get);
  expect_fault(plan, Kind::peer, 2, await);
}

TEST(Rules, SlotsAreFreeWhenTaken) {
  Plan plan = write_plan({0, 1}, {Operation::broadcast, 8, Rank(0)}, [](Builder& builder) {
    const bool is_root = builder.me() == Rank(0);
    for (int i = 0; i < 2; ++i)
      builder.finish(is_root ? builder.send(Rank(1), Buffer::output, 0, 8)
                             : builder.recv(Rank(0), Buffer::output, 0, 8));
  });
  expect_correct(plan);
  Plan busy = plan;
  std::swap(step_at(busy, 0, 1), step_at(busy, 0, 2));
  expect_fault(busy, Kind::slot, 0, 1);
  expect_fault(busy, Kind::slot, 0, 3);  // nothing left to finish
  drop(plan, 1, 3);
  expect_fault(plan, Kind::slot, 1, 3);  // still busy at the end
}

TEST(Rules, SlotsAreThoseOfTheProgram) {
  Plan plan = cells();
  plan.programs[0].slots = 0;
  expect_fault(plan, Kind::slot, 0, find(plan, 0, Op::send));
}

TEST(Rules, TicksGrowWithinACall) {
  Plan plan = cells();
  const int at = find(plan, 0, Op::post, 1);
  step_at(plan, 0, at) = step_at(plan, 0, find(plan, 0, Op::post));
  expect_fault(plan, Kind::flag, 0, at);
}

TEST(Rules, TicksFitBesideTheCallNumber) {
  for (const std::uint64_t tick : {std::uint64_t{0}, plan::max_tick + 1}) {
    Plan plan = cells();
    insert(plan, 1, 0, Step::await(LocalRank(0), Flag::ready, tick));
    expect_fault(plan, Kind::flag, 1, 0);
    step_at(plan, 1, 0) = Step::await_all(Flag::ready, tick);
    expect_fault(plan, Kind::flag, 1, 0);
    step_at(plan, 1, 0) = Step::post(Flag::release, tick);
    expect_fault(plan, Kind::flag, 1, 0);
  }
}

TEST(Rules, ProgramsWithNeighboursEndByPostingDone) {
  Plan plan = cells();
  const int end = static_cast<int>(steps_of(plan, 3).size()) - 1;
  drop(plan, 3, end);
  expect_fault(plan, Kind::flag, 3, end);
}

TEST(Rules, NobodyWritesTheCallersInput) {
  Plan plan = single_copy();
  const int at = find(plan, 1, Op::pull);
  const Step pull = step_at(plan, 1, at);
  step_at(plan, 1, at) = Step::pull(pull.neighbour(), Buffer::input, 0, Buffer::input, 0, 100);
  expect_fault(plan, Kind::input, 1, at, 0, 100);
  step_at(plan, 1, at) = Step::push(pull.neighbour(), Buffer::input, 0, Buffer::input, 0, 100);
  expect_fault(plan, Kind::input, 1, at, 0, 100);
}

TEST(Rules, OnlyExposedBuffersAreReached) {
  Plan plan = single_copy();
  plan.programs[2].is_exposed = false;
  const int first = find(plan, 1, Op::pull);
  ASSERT_EQ(step_at(plan, 1, first).neighbour(), LocalRank(2));
  expect_fault(plan, Kind::exposure, 1, first, 100 * 2, 100 * 3);
}

TEST(Rules, SingleCopyNeedsTheCapability) {
  Plan plan = single_copy();
  plan.topology = place({0, 0, 0}, false);
  expect_fault(plan, Kind::exposure, 0, find(plan, 0, Op::pull));
}

}  // namespace
}  // namespace espalier::verify
