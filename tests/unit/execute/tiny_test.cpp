// The dedicated path of tiny messages, with threads as ranks: right bytes, also when ranks run far ahead of each other.

#include "execute/lines/tiny.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "execute/lines/tiny_run.hpp"
#include "execute/one_node.hpp"
#include "execute/yield.hpp"
#include "reference.hpp"
#include "transports/threads.hpp"

namespace espalier::execute {
namespace {

using plan::Operation;
using plan::Problem;

/// Call `number` of a run: all residues of lines and lengths of tails come up, and long runs of one root fill its ring.
Problem problem_of(Operation operation, int ranks, int number) {
  Problem problem{operation};
  problem.element = is_reduction(operation) ? 2 : 1;
  problem.is_commutative = !is_reduction(operation) || number % 3 == 0;
  if (has_root(operation)) problem.root = Rank(number / 20 % ranks);
  problem.bytes = static_cast<Bytes>(number) * 61 % (tiny_bytes + 1) / problem.element * problem.element;
  while (!plan::is_tiny(problem, ranks)) problem.bytes = problem.bytes / 2 / problem.element * problem.element;
  return problem;
}

/// 400 calls on all ranks of a node, every second one in place.
template <class ProblemOf>
void check_calls(int ranks, ProblemOf problem_of_call) {
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int call = 0; call < 400; ++call) {
      const Problem problem = problem_of_call(call);
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, ranks, me, call, call % 2 == 1);
      run_tiny(world.seat(me), problem, buffers.input(), buffers.output(), &reducer, waiter);
      ASSERT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, call))
          << name(problem.operation) << " of " << problem.bytes << " bytes, call " << call << ", rank " << me.value;
    }
  });
}

class Tiny : public ::testing::TestWithParam<std::tuple<int, Operation>> {};

TEST_P(Tiny, EveryRootAndSizeAlsoInPlace) {
  const auto [ranks, operation] = GetParam();
  check_calls(ranks,
              [&, ranks = ranks, operation = operation](int call) { return problem_of(operation, ranks, call); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Tiny,
                         ::testing::Combine(::testing::Values(2, 3, 8),
                                            ::testing::Values(Operation::broadcast, Operation::scatter,
                                                              Operation::gather, Operation::allgather,
                                                              Operation::alltoall, Operation::reduce,
                                                              Operation::allreduce, Operation::reduce_scatter,
                                                              Operation::scan, Operation::exscan)),
                         [](const auto& info) {
                           return std::string(name(std::get<1>(info.param))) + "_on_" +
                                  std::to_string(std::get<0>(info.param));
                         });

/// Calls in a row, in steps, as nonblocking ones are made.
TEST_P(Tiny, InStepsThatWaitForNobody) {
  const auto [ranks, operation] = GetParam();
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&, ranks = ranks, operation = operation](Rank me) {
    for (int call = 0; call < 400; ++call) {
      const Problem problem = problem_of(operation, ranks, call);
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, ranks, me, call, call % 2 == 1);
      TinyRun run(world.seat(me), problem, {buffers.input(), buffers.output()}, &reducer);
      std::optional<Ending> ending;
      while (!(ending = run.advance())) std::this_thread::yield();
      ASSERT_EQ(ending->kind, Ending::done);
      ASSERT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, call))
          << name(problem.operation) << " of " << problem.bytes << " bytes, call " << call << ", rank " << me.value;
    }
  });
}

// Whoever gets more, or less, than it expects finds what was sent, as one that waits does.
TEST(TinyRunTest, OtherSizesAreFoundOnceTheyAreWaitedForLong) {
  for (const Bytes sent : {Bytes{8}, Bytes{200}}) {
    transports::ThreadWorld world(one_node(2), 4096);
    transports::for_each_rank(2, [&](Rank me) {
      std::byte data[200] = {};
      const Bytes room = me == Rank(0) ? sent : 60;
      data[0] = static_cast<std::byte>(me == Rank(0));
      const Problem problem{.operation = Operation::broadcast, .bytes = room};
      TinyRun run(world.seat(me), problem, {data, data}, nullptr);
      std::optional<Ending> ending;
      while (!(ending = run.advance())) std::this_thread::yield();
      EXPECT_EQ(data[0], std::byte{1});
      EXPECT_EQ(ending->kind, me == Rank(0) ? Ending::done : sent < room ? Ending::shorter : Ending::truncated);
    });
  }
}

// A run that is given up says nothing: neighbours must not take it for one that has read everything.
TEST(TinyRunTest, OneThatIsGivenUpIsNotDone) {
  transports::ThreadWorld world(one_node(2), 4096);
  std::byte data[8] = {};
  const Problem problem{.operation = Operation::broadcast, .bytes = 8, .root = Rank(1)};
  { EXPECT_FALSE(TinyRun(world.seat(Rank(0)), problem, {data, data}, nullptr).advance()); }
  Seat& other = world.seat(Rank(1));
  other.begin_call();
  EXPECT_FALSE(other.reached(LocalRank(0), plan::Flag::done, 1, 0));
}

class TinyCounts : public Tiny {
 protected:
  /// Sizes around the ends of lines and none at all; as long as the message fits its lines.
  static Problem uneven(Operation operation, int ranks, int number) {
    Problem problem{operation};
    problem.element = is_reduction(operation) ? 2 : 1;
    for (Bytes most = tiny_bytes;; most /= 2) {
      problem.counts.clear();
      for (int r = 0; r < ranks; ++r)
        problem.counts.push_back(static_cast<Bytes>(number * 61 + r * 37) % (most + 1) / problem.element *
                                 problem.element * static_cast<Bytes>((number + r) % 5 != 0));
      if (plan::is_tiny(problem, ranks)) return problem;
    }
  }
};

TEST_P(TinyCounts, EverySizeAlsoInPlace) {
  const auto [ranks, operation] = GetParam();
  check_calls(ranks, [&, ranks = ranks, operation = operation](int call) { return uneven(operation, ranks, call); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, TinyCounts,
                         ::testing::Combine(::testing::Values(2, 3, 8),
                                            ::testing::Values(Operation::allgather, Operation::reduce_scatter)),
                         [](const auto& info) {
                           return std::string(name(std::get<1>(info.param))) + "_on_" +
                                  std::to_string(std::get<0>(info.param));
                         });

// A reduce_scatter whose result lies on its input: it may cover this rank's block by a part only.
TEST(TinyCountsTest, AReduceScatterOnItsOwnInputFoldsWhatWasThere) {
  constexpr int ranks = 3;
  const Problem problem{.operation = Operation::reduce_scatter, .element = 2, .counts = {2, 40, 90}};
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int call = 0; call < 50; ++call) {
      const testing::ReferenceReducer reducer(true);
      testing::CallerBuffers buffers(problem, ranks, me, call, false);
      run_tiny(world.seat(me), problem, buffers.input(), buffers.input(), &reducer, waiter);
      const auto expected = testing::expected_by(problem, ranks, me, call);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), buffers.input())) << "rank " << me.value;
    }
  });
}

/// Which lines of its first message each rank has written by one call, as a picture: "x." is the first of two.
std::vector<std::string> lines_written_by(Operation operation, int ranks) {
  transports::ThreadWorld world(one_node(ranks), 4096);
  std::vector<std::string> written(static_cast<std::size_t>(ranks));
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    const Problem problem{.operation = operation, .bytes = 8, .element = 2};
    const testing::ReferenceReducer reducer(true);
    testing::CallerBuffers buffers(problem, ranks, me, 0, false);
    Seat& seat = world.seat(me);
    run_tiny(seat, problem, buffers.input(), buffers.output(), &reducer, waiter);
    const bool has_blocks =
        operation == Operation::scatter || operation == Operation::alltoall || operation == Operation::reduce_scatter;
    const auto lines = static_cast<std::uint32_t>(has_blocks ? ranks : 1);
    const Line* const first = seat.message_at(seat.me(), RingCursor().place(lines, long_ring_block));
    for (std::uint32_t i = 0; i < lines; ++i)
      written[static_cast<std::size_t>(me.value)] += first[i].call.load() == 0 ? '.' : 'x';
  });
  return written;
}

// To write a line that others have read costs a transfer between caches.
TEST(TinyTest, LinesThatNobodyReadsAreNotWritten) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_written_by(Operation::reduce, 2), (Lines{".", "x"})) << "the root's vector stays with it";
  EXPECT_EQ(lines_written_by(Operation::scan, 3), (Lines{"x", "x", "."})) << "the last rank's is in no other sum";
  EXPECT_EQ(lines_written_by(Operation::allreduce, 2), (Lines{"x", "x"}));
  EXPECT_EQ(lines_written_by(Operation::scatter, 3), (Lines{".xx", "...", "..."})) << "the root's own block";
  EXPECT_EQ(lines_written_by(Operation::alltoall, 2), (Lines{".x", "x."}));
  EXPECT_EQ(lines_written_by(Operation::reduce_scatter, 3), (Lines{".xx", "x.x", "xx."}));
}

TEST(RingCursorTest, EveryMessageLiesBeforeTheOneThatCameBefore) {
  RingCursor cursor;
  std::uint32_t before = ring_lines(long_ring_block);
  for (const std::uint32_t lines : {1u, 20u, 74u, 53u, 74u, 74u}) {
    const RingPlace place = cursor.place(lines, long_ring_block);
    EXPECT_LE(place.begin + lines, before);
    EXPECT_EQ(place.block, ring_blocks - 1 - place.begin / long_ring_block) << "in one block as a whole";
    before = place.begin;
  }
  EXPECT_EQ(before, 0u);
  EXPECT_TRUE(cursor.place(1, long_ring_block).opens_block) << "the ring has come round";
}

TEST(RingCursorTest, AMessageThatABlockHasNoRoomForOpensTheNext) {
  RingCursor cursor;
  EXPECT_TRUE(cursor.place(74, long_ring_block).opens_block);
  EXPECT_FALSE(cursor.place(70, long_ring_block).opens_block);
  const RingPlace place = cursor.place(5, long_ring_block);
  EXPECT_TRUE(place.opens_block);
  EXPECT_EQ(place.block, 1u);
  EXPECT_EQ(place.begin + 5, long_ring_block);
}

// Operations share rings and cursors: a communicator mixes them in any order.
TEST(TinyTest, OperationsFollowEachOtherInAnyOrder) {
  constexpr int ranks = 3;
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int call = 0; call < 2000; ++call) {
      const auto operation = static_cast<Operation>(call * 7 % plan::operation_count);
      if (has_edges(operation)) continue;  // never is that short
      const Problem problem = operation == Operation::barrier ? Problem{} : problem_of(operation, ranks, call);
      const testing::ReferenceReducer reducer(problem.is_commutative);
      testing::CallerBuffers buffers(problem, ranks, me, call, false);
      run_tiny(world.seat(me), problem, buffers.input(), buffers.output(), &reducer, waiter);
      ASSERT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, call)) << name(operation);
    }
  });
}

// A gather whose senders disagree takes other ranks' rings to different places, for those that do not read them.
TEST(TinyTest, AReductionFindsVectorsThatLieElsewhereThanItThinks) {
  constexpr int ranks = 3;
  transports::ThreadWorld world(one_node(ranks), 4096);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    const Bytes sent = me == Rank(2) ? 200 : 8;
    std::vector<std::byte> input(200), output(ranks * 200);
    const Problem gather{.operation = Operation::gather, .bytes = sent};
    run_tiny_with_room(world.seat(me), gather, input.data(), output.data(), waiter, 200);
    const Problem problem{.operation = Operation::allreduce, .bytes = 16, .element = 2};
    const testing::ReferenceReducer reducer(true);
    testing::CallerBuffers buffers(problem, ranks, me, 1, false);
    const Ending ending = run_tiny(world.seat(me), problem, buffers.input(), buffers.output(), &reducer, waiter);
    EXPECT_EQ(ending.kind, Ending::done);
    EXPECT_TRUE(buffers.result() == testing::expected_by(problem, ranks, me, 1)) << "rank " << me.value;
  });
}

// Nobody leaves a barrier before everyone has come: the slowest rank's counter is never behind.
TEST(TinyTest, BarrierHoldsEveryoneBack) {
  constexpr int ranks = 8;
  transports::ThreadWorld world(one_node(ranks), 4096);
  std::vector<std::atomic<int>> entered(ranks);
  transports::for_each_rank(ranks, [&](Rank me) {
    Yield waiter;
    for (int call = 1; call <= 300; ++call) {
      entered[static_cast<std::size_t>(me.value)].store(call);
      run_tiny(world.seat(me), Problem{}, nullptr, nullptr, nullptr, waiter);
      for (const std::atomic<int>& other : entered) ASSERT_GE(other.load(), call);
    }
  });
}

}  // namespace
}  // namespace espalier::execute
