// Plans in which somebody waits for ever, and whom the verifier blames.

#include "faults.hpp"

namespace espalier::verify {
namespace {

TEST(Deadlock, HeadToHeadSendsNeedBuffersThatMpiDoesNotPromise) {
  const Plan plan = write_plan({0, 1}, {Operation::barrier, 0, Rank(0)}, [](Builder& builder) {
    const Rank other(1 - builder.me().value);
    builder.finish(builder.send(other, Buffer::output, 0, 0));
    builder.finish(builder.recv(other, Buffer::output, 0, 0));
  });
  expect_fault(plan, Kind::deadlock, 0, 1);
  expect_fault(plan, Kind::deadlock, 1, 1);
}

TEST(Deadlock, SendsInACircleAreStuckWhenSynchronous) {
  const Plan plan = write_plan({0, 1, 2, 3, 4}, {Operation::barrier, 0, Rank(0)}, [](Builder& builder) {
    const int me = builder.me().value;
    builder.finish(builder.send(Rank((me + 1) % 5), Buffer::output, 0, 0));
    builder.finish(builder.recv(Rank((me + 4) % 5), Buffer::output, 0, 0));
  });
  for (int r = 0; r < 5; ++r) expect_fault(plan, Kind::deadlock, r, 1);
}

TEST(Deadlock, AwaitWithoutPost) {
  Plan plan = make({0, 0, 0}, Operation::barrier, 0, 0, "dissemination");
  drop(plan, 1, find(plan, 1, Op::post));
  const std::vector<Violation> found = verify(plan);
  expect_found(found, Kind::deadlock, 0, find(plan, 0, Op::await_all));
  expect_found(found, Kind::deadlock, 2, find(plan, 2, Op::await_all));
}

TEST(Deadlock, PostsOfTheNextCallDoNotCount) {
  Plan plan = make({0, 0}, Operation::broadcast, 100, 0, "knomial,cell=64,cells=2");
  const int last = find(plan, 0, Op::post, 1);
  drop(plan, 0, last);  // ready = 2; the next call's ready = 1 is larger
  expect_fault(plan, Kind::deadlock, 1, find(plan, 1, Op::await, 1));
}

TEST(Deadlock, ACircleOfAwaitsIsBlamedAndNotWhoWaitsBehind) {
  const Plan plan = write_plan({0, 0, 0}, {Operation::barrier, 0, Rank(0)}, [](Builder& builder) {
    const int me = builder.local().value;
    builder.await(LocalRank(me == 0 ? 1 : 0), Flag::ready, 1);
    builder.post(Flag::ready, 1);
  });
  const std::vector<Violation> found = verify(plan);
  ASSERT_EQ(found.size(), 2u) << list(found);
  expect_found(found, Kind::deadlock, 0, 0);
  expect_found(found, Kind::deadlock, 1, 0);
}

TEST(Deadlock, WhoWaitsForAnEndedRankIsBlamed) {
  Plan plan = make({0, 0, 0, 1, 1}, Operation::broadcast, 100, 0, "knomial,cell=128,cells=1");
  drop(plan, 3, find(plan, 3, Op::post));  // the leader of node 1 never says that its cell is ready
  const std::vector<Violation> found = verify(plan);
  ASSERT_EQ(found.size(), 1u) << list(found);
  expect_found(found, Kind::deadlock, 4, find(plan, 4, Op::await));
}

TEST(Deadlock, SwappedPostAndAwait) {
  Plan plan = make({0, 0}, Operation::barrier, 0, 0, "dissemination");
  for (int r = 0; r < 2; ++r) std::swap(step_at(plan, r, 0), step_at(plan, r, 1));
  expect_fault(plan, Kind::deadlock, 0, 0);
  expect_fault(plan, Kind::deadlock, 1, 0);
}

}  // namespace
}  // namespace espalier::verify
