// Faults in who talks to whom.

#include "faults.hpp"

namespace espalier::verify {
namespace {

Plan chain() { return make({0, 1, 2}, Operation::broadcast, 2048, 0, "chain,segment=1K"); }

void drop_with_finish(Plan& plan, int rank, int step) {
  const std::uint32_t slot = step_at(plan, rank, step).slot();
  auto& steps = steps_of(plan, rank);
  for (int i = step + 1; i < static_cast<int>(steps.size()); ++i)
    if (steps[static_cast<std::size_t>(i)].op() == Op::finish && steps[static_cast<std::size_t>(i)].slot() == slot) {
      drop(plan, rank, i);
      break;
    }
  drop(plan, rank, step);
}

TEST(Messages, ADroppedRecvLeavesItsSendUnmatched) {
  Plan plan = chain();
  drop_with_finish(plan, 2, find(plan, 2, Op::recv, 1));
  expect_fault(plan, Kind::message, 1, find(plan, 1, Op::send, 1), 1024, 2048);
}

TEST(Messages, ADroppedSendLeavesItsRecvUnmatched) {
  Plan plan = chain();
  drop_with_finish(plan, 0, find(plan, 0, Op::send, 1));
  expect_fault(plan, Kind::message, 1, find(plan, 1, Op::recv, 1), 1024, 2048);
}

TEST(Messages, BothEndsAgreeOnTheSize) {
  Plan plan = chain();
  const int at = find(plan, 1, Op::recv);
  const Step recv = step_at(plan, 1, at);
  step_at(plan, 1, at) = Step::recv(recv.peer(), recv.buffer(), recv.offset(), recv.bytes() - 1, recv.slot());
  expect_fault(plan, Kind::message, 1, at, 0, 1023);
}

TEST(Messages, AWrongPeerIsMissedAtBothEnds) {
  Plan plan = chain();
  const int at = find(plan, 0, Op::send);
  const Step send = step_at(plan, 0, at);
  step_at(plan, 0, at) = Step::send(Rank(2), send.buffer(), send.offset(), send.bytes(), send.slot());
  expect_fault(plan, Kind::message, 0, at, 0, 1024);
  expect_fault(plan, Kind::message, 1, find(plan, 1, Op::recv, 1));
}

}  // namespace
}  // namespace espalier::verify
