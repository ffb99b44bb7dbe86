// Everything in order, but the wrong bytes; and barriers that let go too early.

#include "faults.hpp"

namespace espalier::verify {
namespace {

int end_of(Plan& plan, int rank) { return static_cast<int>(steps_of(plan, rank).size()); }

TEST(Data, ABlockAtTheWrongPlace) {
  Plan plan = make({0, 0, 0}, Operation::allgather, 64, 0, "ring,cell=64,cells=1");
  const int at = find(plan, 0, Op::get);
  const Step get = step_at(plan, 0, at);
  ASSERT_EQ(get.offset(), 64u);
  step_at(plan, 0, at) = Step::get(get.neighbour(), get.window_offset(), get.buffer(), 65, 64);
  expect_fault(plan, Kind::data, 0, end_of(plan, 0), 64, 65);
}

TEST(Data, ABlockOfTheWrongRank) {
  Plan plan = make({0, 0, 0}, Operation::allgather, 64, 0, "ring,within=single_copy");
  const int at = find(plan, 0, Op::pull);
  const Step pull = step_at(plan, 0, at);
  ASSERT_EQ(pull.offset(), 64u);
  // Rank 2 is waited for only afterwards, so this is also a race; without that wait it would be wrong just the same.
  step_at(plan, 0, at) = Step::pull(LocalRank(0), Buffer::input, 0, Buffer::output, 64, 64);
  expect_fault(plan, Kind::data, 0, end_of(plan, 0), 64, 128);
}

TEST(Data, AMessageFromTheWrongOffset) {
  Plan plan = make({0, 1, 2}, Operation::broadcast, 2048, 0, "chain,segment=1K");
  const int at = find(plan, 1, Op::send);
  const Step send = step_at(plan, 1, at);
  // The second segment twice; the first one is there already, so only the bytes are wrong.
  insert(plan, 1, at, Step::copy(Buffer::output, 0, Buffer::output, 0, 0));
  step_at(plan, 1, at + 1) = Step::send(send.peer(), Buffer::output, 1, 1023, send.slot());
  const int recv = find(plan, 2, Op::recv);
  const Step step = step_at(plan, 2, recv);
  step_at(plan, 2, recv) = Step::recv(step.peer(), Buffer::output, 0, 1023, step.slot());
  const std::vector<Violation> found = verify(plan);
  expect_found(found, Kind::data, 2, end_of(plan, 2), 0, 1023);
  expect_found(found, Kind::data, 2, end_of(plan, 2), 1023, 1024);
}

TEST(Data, TheRootsOwnBytesStay) {
  const Plan plan = write_plan({0}, {Operation::broadcast, 8, Rank(0)},
                               [](Builder& builder) { builder.copy(Buffer::output, 0, Buffer::output, 4, 4); });
  expect_fault(plan, Kind::data, 0, 1, 4, 8);
}

TEST(Data, AnEarlyEndLeavesTheTailUnwritten) {
  Plan plan = make({0, 0}, Operation::broadcast, 100, 0, "knomial,cell=64,cells=2");
  drop(plan, 1, find(plan, 1, Op::get, 1));
  expect_fault(plan, Kind::data, 1, end_of(plan, 1), 64, 100);
}

TEST(Data, TheWrongRoot) {
  Plan plan = make({0, 1}, Operation::broadcast, 100, 0, "knomial");
  plan.problem.root = Rank(1);
  expect_fault(plan, Kind::undefined, 0, find(plan, 0, Op::send), 0, 100);
}

TEST(Data, ScratchHoldsNothingAtFirst) {
  Plan plan = make({0}, Operation::allgather, 8, 0, "ring");
  plan.programs[0].scratch_bytes = 8;
  insert(plan, 0, 0, Step::copy(Buffer::scratch, 4, Buffer::output, 0, 4));
  expect_fault(plan, Kind::undefined, 0, 0, 4, 8);
}

TEST(Data, WindowsHoldNothingOfEarlierCalls) {
  // Without the put the reader finds what the call before last has left in the bank.
  Plan good = make({0, 0}, Operation::broadcast, 64, 0, "knomial,cell=64,cells=1");
  Plan bad = good;
  drop(bad, 0, find(bad, 0, Op::put));
  const std::vector<Violation> found = verify_sequence(std::vector{good, good, bad});
  expect_found(found, Kind::undefined, 1, find(bad, 1, Op::get), 0, 64);
}

TEST(Data, CopiesDoNotOverlap) {
  const Plan plan = write_plan({0}, {Operation::broadcast, 8, Rank(0)},
                               [](Builder& builder) { builder.copy(Buffer::output, 0, Buffer::output, 2, 4); });
  expect_fault(plan, Kind::overlap, 0, 0, 2, 6);
}

TEST(Data, InPlaceIsCheckedToo) {
  // Correct when input and output are apart: rank 0's block is used again after output has been written over it.
  Plan plan = make({0, 1}, Operation::allgather, 8, 0, "ring");
  expect_correct(plan);
  plan.programs[0].scratch_bytes = 8;
  for (const Step& step :
       {Step::copy(Buffer::output, 0, Buffer::scratch, 0, 8), Step::copy(Buffer::scratch, 4, Buffer::output, 0, 4),
        Step::copy(Buffer::input, 0, Buffer::output, 0, 8)})
    insert(plan, 0, end_of(plan, 0), step);
  const std::vector<Violation> found = verify(plan);
  ASSERT_FALSE(found.empty());
  expect_found(found, Kind::data, 0, end_of(plan, 0), 0, 4);
}

TEST(Order, ABarrierThatWaitsForNobody) {
  Plan plan = make({0, 0, 0}, Operation::barrier, 0, 0, "dissemination");
  drop(plan, 1, find(plan, 1, Op::await_all));
  expect_fault(plan, Kind::order, 1, end_of(plan, 1));
}

TEST(Order, ABarrierWithoutItsLastRound) {
  Plan plan = make({0, 1, 2, 3, 4}, Operation::barrier, 0, 0, "dissemination");
  for (int r = 0; r < 5; ++r)
    steps_of(plan, r).erase(steps_of(plan, r).begin() + 8,
                            steps_of(plan, r).end());  // two rounds of four steps reach four nodes of five
  for (int r = 0; r < 5; ++r) expect_fault(plan, Kind::order, r, 8);
}

TEST(Order, ALeaderThatReleasesItsNodeTooEarly) {
  Plan plan = make({0, 0, 1, 1}, Operation::barrier, 0, 0, "dissemination");
  auto& steps = steps_of(plan, 0);
  const int release = end_of(plan, 0) - 2;
  ASSERT_EQ(step_at(plan, 0, release), Step::post(Flag::release, 1));
  std::rotate(steps.begin(), steps.begin() + release, steps.begin() + release + 1);
  expect_fault(plan, Kind::order, 1, end_of(plan, 1));
}

}  // namespace
}  // namespace espalier::verify
