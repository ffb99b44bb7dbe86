// Bytes used by two ranks, or by a rank and its own message, in no certain order, whether or not the schedule that
// happens to be examined goes wrong.

#include "faults.hpp"

namespace espalier::verify {
namespace {

Plan pipeline() { return make({0, 0, 0}, Operation::broadcast, 192, 0, "knomial,cell=64,cells=2"); }
Plan single_copy_ring() { return make({0, 0, 0}, Operation::allgather, 100, 0, "ring,within=single_copy"); }

bool races_between(const std::vector<Violation>& found, int writer, Bytes first, Bytes last) {
  return std::any_of(found.begin(), found.end(), [&](const Violation& violation) {
    return violation.kind == Kind::race && violation.first == first && violation.last == last &&
           (violation.rank == Rank(writer) ||
            violation.text.find("rank " + std::to_string(writer) + "'s") != std::string::npos);
  });
}

TEST(Race, ReadingACellBeforeItsWrite) {
  Plan plan = pipeline();
  drop(plan, 2, find(plan, 2, Op::await));
  EXPECT_TRUE(races_between(verify(plan), 0, 0, 64)) << list(verify(plan));
}

TEST(Race, OverwritingACellBeforeItsLastRead) {
  Plan plan = pipeline();
  // The first await_all claims the bank, the second waits for the cell of the third piece.
  drop(plan, 0, find(plan, 0, Op::await_all, 1));
  EXPECT_TRUE(races_between(verify(plan), 0, 0, 64)) << list(verify(plan));
}

TEST(Race, WaitingForTooLittle) {
  Plan plan = pipeline();
  const int at = find(plan, 1, Op::await, 1);
  step_at(plan, 1, at) = Step::await(LocalRank(0), Flag::ready, 1);
  EXPECT_TRUE(races_between(verify(plan), 0, 64, 128)) << list(verify(plan));
}

TEST(Race, AMissingClaimShowsWhenTheBankComesRoundAgain) {
  Plan plan = make({0, 0}, Operation::broadcast, 64, 0, "knomial,cell=64,cells=1");
  drop(plan, 0, find(plan, 0, Op::await_all));
  // Whichever of the two is examined last reports the other.
  const std::vector<Violation> found = verify(plan);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(races_between(found, 0, 0, 64)) << list(found);
  EXPECT_NE(to_string(found[0]).find("call 1"), std::string::npos) << list(found);
  EXPECT_NE(to_string(found[0]).find("call 3"), std::string::npos) << list(found);
}

TEST(Race, TellingReadersBeforeWriting) {
  Plan plan = pipeline();
  const int put = find(plan, 0, Op::put);
  ASSERT_EQ(step_at(plan, 0, put + 1).op(), Op::post);
  std::swap(step_at(plan, 0, put), step_at(plan, 0, put + 1));
  EXPECT_TRUE(races_between(verify(plan), 0, 0, 64)) << list(verify(plan));
}

TEST(Race, PullingBeforeTheOwnerHasEntered) {
  Plan plan = single_copy_ring();
  const int at = find(plan, 1, Op::await);
  drop(plan, 1, at);
  EXPECT_TRUE(races_between(verify(plan), 2, 0, 100)) << list(verify(plan));
}

TEST(Race, LeavingWhileNeighboursStillPull) {
  Plan plan = single_copy_ring();
  const int at = find(plan, 2, Op::await_all);
  drop(plan, 2, at);
  EXPECT_TRUE(races_between(verify(plan), 2, 0, 100)) << list(verify(plan));
}

TEST(Race, PushingBeforeTheOwnerHasEntered) {
  Plan plan = make({0, 0, 1}, Operation::allgather, 100, 0, "ring,within=single_copy");
  const int push = find(plan, 1, Op::push);
  ASSERT_EQ(step_at(plan, 1, push - 1).op(), Op::await);
  drop(plan, 1, push - 1);
  EXPECT_TRUE(races_between(verify(plan), 0, 100, 200)) << list(verify(plan));
}

TEST(Race, PrematureNextStepOfAnotherRankIsNoLuck) {
  // Rank 1 reads what rank 0 wrote; only rank 2, which knows nothing of it, stands between them.
  const Plan plan = write_plan({0, 0, 0}, {Operation::broadcast, 8, Rank(0)}, [](Builder& builder) {
    const LocalRank writer(0), relay(2);
    if (builder.local() == writer) {
      builder.claim_window();
      builder.put(Buffer::output, 0, 8, 0);
      builder.post(Flag::ready, 1);
    } else if (builder.local() == relay) {
      builder.post(Flag::ready, 1);
      builder.await(writer, Flag::ready, 1);
      builder.get(writer, 0, Buffer::output, 0, 8);
    } else {
      builder.await(relay, Flag::ready, 1);
      builder.get(writer, 0, Buffer::output, 0, 8);
    }
  });
  EXPECT_TRUE(races_between(verify(plan), 0, 0, 8)) << list(verify(plan));
}

TEST(Race, AReceiversProgressIsNoNewsToTheSender) {
  // Rank 0's finish says nothing of rank 2, so rank 1 may not rely on it.
  const Plan plan = write_plan({0, 0, 1}, {Operation::broadcast, 8, Rank(2)}, [](Builder& builder) {
    if (builder.me() == Rank(2)) {
      for (int r = 0; r < 2; ++r) builder.finish(builder.send(Rank(r), Buffer::output, 0, 8));
    } else {
      builder.finish(builder.recv(Rank(2), Buffer::output, 0, 8));
    }
  });
  expect_correct(plan);
  Plan barrier = plan;
  barrier.problem = {Operation::barrier, 0, Rank(0)};
  for (int r = 0; r < 3; ++r)
    for (Step& step : steps_of(barrier, r)) {
      if (step.op() == Op::send) step = Step::send(step.peer(), Buffer::output, 0, 0, step.slot());
      if (step.op() == Op::recv) step = Step::recv(step.peer(), Buffer::output, 0, 0, step.slot());
    }
  expect_fault(barrier, Kind::order, 2, 4);  // the sender knows of nobody
}

class OwnMessage : public ::testing::Test {
 protected:
  /// Rank 0 sends, rank 1 receives; `early` runs between start and finish.
  template <class Early>
  Plan with(Early early) {
    return write_plan({0, 1}, {Operation::broadcast, 8, Rank(0)}, [&](Builder& builder) {
      builder.need_scratch(8);
      const bool is_root = builder.me() == Rank(0);
      const std::uint32_t slot =
          is_root ? builder.send(Rank(1), Buffer::output, 0, 8) : builder.recv(Rank(0), Buffer::output, 0, 8);
      early(builder, is_root);
      builder.finish(slot);
    });
  }
};

TEST_F(OwnMessage, ReadingWhatIsBeingSentIsFine) {
  expect_correct(with([](Builder& builder, bool is_root) {
    if (is_root) builder.copy(Buffer::output, 0, Buffer::scratch, 0, 8);
  }));
}

TEST_F(OwnMessage, WritingWhatIsBeingSent) {
  const Plan plan = with([](Builder& builder, bool is_root) {
    if (!is_root) return;
    builder.copy(Buffer::output, 0, Buffer::scratch, 0, 8);
    builder.copy(Buffer::scratch, 2, Buffer::output, 2, 4);
  });
  expect_fault(plan, Kind::busy, 0, 2, 2, 6);
}

TEST_F(OwnMessage, ReadingWhatIsBeingReceived) {
  const Plan plan = with([](Builder& builder, bool is_root) {
    if (!is_root) builder.copy(Buffer::output, 0, Buffer::scratch, 0, 4);
  });
  expect_fault(plan, Kind::busy, 1, 1, 0, 4);
}

TEST(Race, ShowingACellWhileItIsBeingReceived) {
  // The network writes into the window; its owner tells the reader too early.
  const auto build = [](bool is_early) {
    return write_plan({0, 1, 1}, {Operation::broadcast, 8, Rank(0)}, [&](Builder& builder) {
      if (builder.me() == Rank(0)) return builder.finish(builder.send(Rank(1), Buffer::output, 0, 8));
      if (builder.me() == Rank(1)) {
        builder.claim_window();
        const std::uint32_t slot = builder.recv(Rank(0), Buffer::window, 0, 8);
        if (is_early) builder.post(Flag::ready, 1);
        builder.finish(slot);
        if (!is_early) builder.post(Flag::ready, 1);
      } else {
        builder.await(LocalRank(0), Flag::ready, 1);
      }
      builder.get(LocalRank(0), 0, Buffer::output, 0, 8);
    });
  };
  expect_correct(build(false));
  EXPECT_TRUE(races_between(verify(build(true)), 1, 0, 8)) << list(verify(build(true)));
}

}  // namespace
}  // namespace espalier::verify
